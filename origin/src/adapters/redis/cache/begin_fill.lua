-- Begins to fill a list: a stamp, and what is cached of the list and fresh.
-- KEYS: filling, newest, oldest
-- ARGV: a new stamp, its lifetime (ms)
-- Answer: the stamp, then for each window: low, high, entries, or three empty strings
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
local answer = { redis.call('GET', KEYS[1]) }
for w = 2, 3 do
  local fresh_until = redis.call('ZSCORE', KEYS[w], 'U')
  if fresh_until and -1 - fresh_until > now then
    for _, name in ipairs({ 'L', 'H' }) do
      table.insert(answer, string.format('%.0f', -1 - redis.call('ZSCORE', KEYS[w], name)))
    end
    table.insert(answer, tostring(redis.call('ZCARD', KEYS[w]) - 4))
  else
    for _ = 1, 3 do table.insert(answer, '') end
  end
end
return answer
