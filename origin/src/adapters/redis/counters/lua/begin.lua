-- Begins to open a slot: leaves a token that does not survive what the slot would not survive.
--
-- KEYS: the token. ARGV: how long it lives, in seconds.

redis.call('SET', KEYS[1], run_id(), 'EX', ARGV[1])
