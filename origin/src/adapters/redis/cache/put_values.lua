-- Puts values whose stamps are still there, or that replace older versions. One that is older than what is
-- there, or than its invalidation, was read from rows of before: from a database that its slot has left.
-- KEYS: the generation, the era, the values
-- ARGV: a new stamp, the lifetime of a generation (ms); for each value: its stamp, the generation it was found in
--       (empty if it is the same for ever), whether it depends on that generation (1 or 0), its version, how long
--       it is fresh and kept (ms), its bytes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local era, generation = enter_era(KEYS[1], KEYS[2], ARGV[2])

-- Whether nothing that the value depends on was changed, or lost, since it was found.
local function is_current(found_in, depends)
  return found_in == '' or found_in == generation or (depends == '0' and tonumber(found_in) >= tonumber(era))
end

for i = 3, #KEYS do
  local at = 3 + (i - 3) * 7
  local stamp, found_in, version = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local header = redis.call('GETRANGE', KEYS[i], 0, 32)
  if header ~= '' and is_current(found_in, ARGV[at + 2]) then
    local is_stamp, before = header:sub(1, 1) == 'c', tonumber(header:sub(18, 33))
    local is_newer = not is_stamp and before < tonumber(version)
    local is_older = not is_stamp and tonumber(version) > 0 and tonumber(version) < before
    if is_newer or (header:sub(2, 17) == stamp and not is_older) then
      local made_in = found_in == '' and string.rep('0', 16) or found_in
      local fresh_until = string.format('%013d', now + ARGV[at + 4])
      local value = 'v' .. ARGV[1] .. version .. made_in .. fresh_until .. ARGV[at + 6]
      redis.call('SET', KEYS[i], value, 'PX', ARGV[at + 5])
    end
  end
end
