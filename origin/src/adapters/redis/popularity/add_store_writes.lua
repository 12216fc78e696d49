-- Adds writes to the count of this day (UTC), and answers with it
-- KEYS: the count, a hash of day and writes
-- ARGV: how many are added, the length of a day (s)
local day = math.floor(tonumber(redis.call('TIME')[1]) / ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'day', 'writes')
local before = tonumber(stored[1] or -1) == day and tonumber(stored[2]) or 0
local writes = before + ARGV[1]
redis.call('HSET', KEYS[1], 'day', string.format('%d', day), 'writes', string.format('%d', writes))
redis.call('EXPIRE', KEYS[1], 2 * ARGV[2])
return writes
