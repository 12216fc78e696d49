-- Adds to the heat of subjects; all heat halves every minute.
-- KEYS: the subjects by heat; below them all stands T, the last halving (seconds)
-- ARGV: how many are kept, how long (s), then heat and subject of each
local now = tonumber(redis.call('TIME')[1])
local halved = redis.call('ZSCORE', KEYS[1], 'T')
if halved and now + halved >= 60 then
  redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[1], 'WEIGHTS', 0.5)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', 0.5)
  halved = nil
end
if not halved then redis.call('ZADD', KEYS[1], -now, 'T') end
for i = 3, #ARGV, 2 do redis.call('ZINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
local more = redis.call('ZCARD', KEYS[1]) - 1 - ARGV[1]
if more > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, more) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
