-- Begins the recovery of a slot: writes a token that is lost whenever the slot would be lost.
--
-- KEYS: the token
-- ARGV: its lifetime in seconds

redis.call('SET', KEYS[1], run_id(), 'EX', ARGV[1])
