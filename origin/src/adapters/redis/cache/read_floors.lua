-- Reads floors of a list, from the first of its windows that has all of them.
-- KEYS: the windows, the more likely one first
-- ARGV: ascending (1 or 0), the floor to begin beyond or empty, how many, the greatest floor
-- Answer: whether they are fresh (1 or 0), then id and floor of each; nil if they are not cached
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ascending, count, greatest = ARGV[1] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])

local function read(window)
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
  local is_fresh = -1 - redis.call('ZSCORE', window, 'U') > now
  table.insert(found, 1, is_fresh and '1' or '0')
  return found, is_fresh
end

local first, first_is_fresh = read(KEYS[1])
if first_is_fresh then return first end
local second, second_is_fresh = read(KEYS[2])
if second_is_fresh or not first then return second end
return first
