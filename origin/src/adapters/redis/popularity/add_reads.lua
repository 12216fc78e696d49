-- Adds reads to the sums of subjects, halves the sums once a minute, and answers with the most read
-- KEYS: the subjects by their sums, with the member T below them, whose score is minus the time of the
--       last halving (seconds); the requested lists (`bit subject`) by the time of the last request
--       (seconds)
-- ARGV: how many subjects are kept, for how long (s), how long lists are kept (s), how many subjects
--       to answer; then for each subject: reads, lists (bits), its name
-- Answer: three a subject: its name, its sum, its lists (bits)
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
  for bit = 0, 15 do
    if lists % 2 == 1 then redis.call('ZADD', KEYS[2], now, bit .. ' ' .. ARGV[i + 2]) end
    lists = math.floor(lists / 2)
  end
end
local surplus = redis.call('ZCARD', KEYS[1]) - 1 - ARGV[1]
if surplus > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, surplus) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[3])
local answer = {}
local count = tonumber(ARGV[4])
if count == 0 then return answer end
local most_read = redis.call('ZREVRANGE', KEYS[1], 0, count, 'WITHSCORES')
for i = 1, #most_read, 2 do
  if most_read[i] ~= 'T' and #answer < count * 3 then
    local lists = 0
    for bit = 15, 0, -1 do
      local requested = redis.call('ZSCORE', KEYS[2], bit .. ' ' .. most_read[i])
      lists = lists * 2 + (requested and 1 or 0)
    end
    answer[#answer + 1] = most_read[i]
    answer[#answer + 1] = string.format('%d', math.floor(tonumber(most_read[i + 1])))
    answer[#answer + 1] = tostring(lists)
  end
end
return answer
