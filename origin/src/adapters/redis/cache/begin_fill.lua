-- Begins to fill a list: a stamp, and what is cached of the list and fresh.
-- KEYS: the generation, the era, filling, then newest and oldest, each with the era of its filling
-- ARGV: a new stamp, its lifetime (ms), the lifetime of a generation (ms)
-- Answer: the era, the stamp, then for each window: low, high, entries, or three empty strings
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local era = enter_era(KEYS[1], KEYS[2], ARGV[3])
redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', ARGV[2])
local answer = { era, redis.call('GET', KEYS[3]) }
for w = 4, 6, 2 do
  local fresh_until = redis.call('ZSCORE', KEYS[w], 'U')
  if fresh_until and -1 - fresh_until > now and string.sub(redis.call('GET', KEYS[w + 1]) or '', 1, 16) == era then
    for _, name in ipairs({ 'L', 'H' }) do
      table.insert(answer, string.format('%.0f', -1 - redis.call('ZSCORE', KEYS[w], name)))
    end
    table.insert(answer, tostring(redis.call('ZCARD', KEYS[w]) - 4))
  else
    for _ = 1, 3 do table.insert(answer, '') end
  end
end
return answer
