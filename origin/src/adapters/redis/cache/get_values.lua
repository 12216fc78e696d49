-- Reads values. A missing one gets a stamp.
-- KEYS: the generation, the values
-- ARGV: a new stamp, its lifetime (ms), the lifetime of a generation (ms)
-- Answer: the generation, the time (ms), and the bytes of each value
local time = redis.call('TIME')
local generation = redis.call('GET', KEYS[1])
if not generation then
  generation = string.format('%d%06d', time[1], time[2])
  redis.call('SET', KEYS[1], generation, 'PX', ARGV[3])
end
local found = redis.call('MGET', unpack(KEYS, 2))
local answer = { generation, string.format('%d%03d', time[1], math.floor(time[2] / 1000)) }
for i = 1, #KEYS - 1 do
  local value = found[i]
  if not value then
    value = 'c' .. ARGV[1] .. string.rep('0', 16) .. generation .. string.rep('0', 13)
    redis.call('SET', KEYS[i + 1], value, 'PX', ARGV[2])
  end
  answer[i + 2] = value
end
return answer
