-- A stamp for filling a list, and what is kept of it and fresh.
-- KEYS: filling, newest, oldest
-- ARGV: a new stamp, its life (ms)
-- Returns the stamp, then of each window: low, high, entries, or three times nothing.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
local answer = { redis.call('GET', KEYS[1]) }
for w = 2, 3 do
  local fresh = redis.call('ZSCORE', KEYS[w], 'U')
  if fresh and -1 - fresh > now then
    for _, name in ipairs({ 'L', 'H' }) do
      table.insert(answer, string.format('%.0f', -1 - redis.call('ZSCORE', KEYS[w], name)))
    end
    table.insert(answer, tostring(redis.call('ZCARD', KEYS[w]) - 4))
  else
    for _ = 1, 3 do table.insert(answer, '') end
  end
end
return answer
