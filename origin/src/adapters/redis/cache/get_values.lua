-- Reads values. A missing one gets a stamp.
-- KEYS: the generation, the era, the values
-- ARGV: a new stamp, its lifetime (ms), the lifetime of a generation (ms)
-- Answer: the era, the generation, the time (ms), and the bytes of each value
local time = redis.call('TIME')
local era, generation = enter_era(KEYS[1], KEYS[2], ARGV[3])
local found = redis.call('MGET', unpack(KEYS, 3))
local answer = { era, generation, string.format('%d%03d', time[1], math.floor(time[2] / 1000)) }
for i = 1, #KEYS - 2 do
  local value = found[i]
  if not value then
    value = 'c' .. ARGV[1] .. string.rep('0', 16) .. generation .. string.rep('0', 13)
    redis.call('SET', KEYS[i + 2], value, 'PX', ARGV[2])
  end
  answer[i + 3] = value
end
return answer
