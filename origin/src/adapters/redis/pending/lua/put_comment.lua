-- Puts an appended comment, with the name of the server that accepts it.
--
-- KEYS: the comment
-- ARGV: the operation, how long it is kept (ms)

redis.call('SET', KEYS[1], run_id() .. ARGV[1], 'PX', ARGV[2])
