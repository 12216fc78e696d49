-- Puts values where their stamps still stand, or in place of older versions.
-- KEYS: generation, values
-- ARGV: a new stamp; for each value: the stamp and the generation it was found with (the latter
-- empty where it does not matter), its version, how long it is fresh and kept (ms), its bytes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local generation = redis.call('GET', KEYS[1])
for i = 2, #KEYS do
  local at = 2 + (i - 2) * 6
  local stamp, needed, version = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local head = redis.call('GETRANGE', KEYS[i], 0, 32)
  if head ~= '' and (needed == '' or needed == generation) then
    local older = head:sub(1, 1) ~= 'c' and tonumber(head:sub(18, 33)) < tonumber(version)
    if older or head:sub(2, 17) == stamp then
      local carried = needed == '' and string.rep('0', 16) or generation
      local until_ms = string.format('%013d', now + ARGV[at + 3])
      local value = 'v' .. ARGV[1] .. version .. carried .. until_ms .. ARGV[at + 5]
      redis.call('SET', KEYS[i], value, 'PX', ARGV[at + 4])
    end
  end
end
