-- Fills a part of a list in, if nothing happened to the list since it was begun.
-- KEYS: filling, window
-- ARGV: the stamp, version, low, high, how long it is fresh and kept (ms), then floor and id of each
-- Returns whether it was filled in.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = KEYS[2]
local version, low, high = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local fresh, kept = now + ARGV[5], true

local function mark(name) return -1 - redis.call('ZSCORE', window, name) end

-- The part goes beside what is kept where the two touch; it ends when that does.
if redis.call('EXISTS', window) == 1 then
  if mark('U') > now and low <= mark('H') + 1 and high >= mark('L') - 1 then
    low, high = math.min(low, mark('L')), math.max(high, mark('H'))
    version, fresh, kept = math.max(version, mark('V')), mark('U'), false
  else
    redis.call('DEL', window)
  end
end
for i = 7, #ARGV, 2 do redis.call('ZADD', window, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', window, -1 - low, 'L', -1 - high, 'H', -1 - version, 'V', -1 - fresh, 'U')
if kept then redis.call('PEXPIRE', window, ARGV[6]) end
return 1
