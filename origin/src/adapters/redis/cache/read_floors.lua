-- Reads floors of a list, from the first of its windows that has all of them.
-- KEYS: the generation, the era, then for each window, the more likely one first: itself, the era of its filling;
--       then the applied commits of the subject, if it is known
-- ARGV: ascending (1 or 0), the floor to begin beyond or empty, how many, the greatest floor, the lifetime of a
--       generation (ms)
-- Answer: whether they are fresh (1 or 0), the version of the subject that they contain at least, then id and floor of
--         each; nil if they are not cached
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ascending, count, greatest = ARGV[1] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])
local era = enter_era(KEYS[1], KEYS[2], ARGV[5])

local applied = KEYS[7] and redis.call('GET', KEYS[7]) or ''
local applied_above, applied_up_to = string.match(applied, '^(%d+) (%d+)')

-- The version that a part contains: the one that it was filled with, and the commits that were applied since, unless one
-- in between is missing. And whether too many may be missing.
local function version_of(filled_in)
  local version = tonumber(string.sub(filled_in, 17)) or 0
  if applied_above and version < tonumber(applied_above) then return string.format('%.0f', version), true end
  if applied_above and version <= tonumber(applied_up_to) then return applied_up_to, false end
  return string.format('%.0f', version), false
end

local function read(window, filled_in_key)
  local low = redis.call('ZSCORE', window, 'L')
  if not low then return nil end
  low = -1 - low
  local high = -1 - redis.call('ZSCORE', window, 'H')
  local found, reaches_end
  if ascending then
    local from = ARGV[2] == '' and 0 or ARGV[2] + 1
    if from < low then return nil end
    found = redis.call('ZRANGEBYSCORE', window, math.max(from, 0), greatest, 'WITHSCORES', 'LIMIT', 0, count)
    reaches_end = high == greatest
  else
    local from = ARGV[2] == '' and greatest or ARGV[2] - 1
    if from > high then return nil end
    if from >= 0 then
      found = redis.call('ZREVRANGEBYSCORE', window, from, 0, 'WITHSCORES', 'LIMIT', 0, count)
    else
      found = {}
    end
    reaches_end = low == 0
  end
  if not reaches_end and #found < 2 * count then return nil end
  local filled_in = redis.call('GET', filled_in_key) or ''
  local is_fresh = -1 - redis.call('ZSCORE', window, 'U') > now and string.sub(filled_in, 1, 16) == era
  local version, is_behind = version_of(filled_in)
  is_fresh = is_fresh and not is_behind
  table.insert(found, 1, version)
  table.insert(found, 1, is_fresh and '1' or '0')
  return found, is_fresh
end

local first, first_is_fresh = read(KEYS[3], KEYS[4])
if first_is_fresh then return first end
local second, second_is_fresh = read(KEYS[5], KEYS[6])
if second_is_fresh or not first then return second end
return first
