-- Floors of a list, from the first of its windows that has them all.
-- KEYS: the windows, the likelier first
-- ARGV: ascending (1 or 0), beyond or empty, count, the greatest floor
-- Returns whether they are fresh (1 or 0) and id and floor of each; nothing where they are not kept.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ascending, count, greatest = ARGV[1] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])

local function read(window)
  local low = redis.call('ZSCORE', window, 'L')
  if not low then return nil end
  low = -1 - low
  local high = -1 - redis.call('ZSCORE', window, 'H')
  local found, whole
  if ascending then
    local from = ARGV[2] == '' and 0 or ARGV[2] + 1
    if from < low then return nil end
    found = redis.call('ZRANGEBYSCORE', window, math.max(from, 0), greatest, 'WITHSCORES', 'LIMIT', 0, count)
    whole = high == greatest
  else
    local from = ARGV[2] == '' and greatest or ARGV[2] - 1
    if from > high then return nil end
    if from >= 0 then
      found = redis.call('ZREVRANGEBYSCORE', window, from, 0, 'WITHSCORES', 'LIMIT', 0, count)
    else
      found = {}
    end
    whole = low == 0
  end
  if not whole and #found < 2 * count then return nil end
  local fresh = -1 - redis.call('ZSCORE', window, 'U') > now
  table.insert(found, 1, fresh and '1' or '0')
  return found, fresh
end

local first, fresh = read(KEYS[1])
if fresh then return first end
local second, also = read(KEYS[2])
if also or not first then return second end
return first
