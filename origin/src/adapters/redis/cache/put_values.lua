-- Puts values whose stamps are still there, or that replace older versions.
-- KEYS: the generation, the values
-- ARGV: a new stamp; for each value: the stamp and the generation it was found with (the latter is
--       empty if the value does not depend on it), its version, how long it is fresh and kept (ms),
--       its bytes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local generation = redis.call('GET', KEYS[1])
for i = 2, #KEYS do
  local at = 2 + (i - 2) * 6
  local stamp, needed, version = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local header = redis.call('GETRANGE', KEYS[i], 0, 32)
  if header ~= '' and (needed == '' or needed == generation) then
    local is_older = header:sub(1, 1) ~= 'c' and tonumber(header:sub(18, 33)) < tonumber(version)
    if is_older or header:sub(2, 17) == stamp then
      local made_in = needed == '' and string.rep('0', 16) or generation
      local fresh_until = string.format('%013d', now + ARGV[at + 3])
      local value = 'v' .. ARGV[1] .. version .. made_in .. fresh_until .. ARGV[at + 5]
      redis.call('SET', KEYS[i], value, 'PX', ARGV[at + 4])
    end
  end
end
