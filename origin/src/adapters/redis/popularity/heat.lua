-- Adds to the heat of subjects, lets it cool down, and answers with the hottest
-- KEYS: the subjects by heat, below them all T, the last halving (seconds); the lists asked for
--       (bit and subject) by when (seconds)
-- ARGV: how many are kept, how long (s), how long lists are (s), how many are answered;
--       then heat, lists and subject of each
local now = tonumber(redis.call('TIME')[1])
local halved = redis.call('ZSCORE', KEYS[1], 'T')
local minutes = halved and math.floor((now + halved) / 60) or 0
if minutes > 0 then
  redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[1], 'WEIGHTS', 0.5 ^ math.min(minutes, 60))
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', 0.5)
  redis.call('ZADD', KEYS[1], -now, 'T')
elseif not halved then
  redis.call('ZADD', KEYS[1], -now, 'T')
end
for i = 5, #ARGV, 3 do
  redis.call('ZINCRBY', KEYS[1], ARGV[i], ARGV[i + 2])
  local lists = tonumber(ARGV[i + 1])
  for place = 0, 7 do
    if lists % 2 == 1 then redis.call('ZADD', KEYS[2], now, place .. ' ' .. ARGV[i + 2]) end
    lists = math.floor(lists / 2)
  end
end
local more = redis.call('ZCARD', KEYS[1]) - 1 - ARGV[1]
if more > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, more) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[3])
local answer = {}
local count = tonumber(ARGV[4])
if count == 0 then return answer end
local hottest = redis.call('ZREVRANGE', KEYS[1], 0, count, 'WITHSCORES')
for i = 1, #hottest, 2 do
  if hottest[i] ~= 'T' and #answer < count * 3 then
    local lists = 0
    for place = 7, 0, -1 do
      local asked = redis.call('ZSCORE', KEYS[2], place .. ' ' .. hottest[i])
      lists = lists * 2 + (asked and 1 or 0)
    end
    answer[#answer + 1] = hottest[i]
    answer[#answer + 1] = string.format('%d', math.floor(tonumber(hottest[i + 1])))
    answer[#answer + 1] = tostring(lists)
  end
end
return answer
