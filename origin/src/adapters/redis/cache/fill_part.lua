-- Fills a part of a list in, unless the list changed since the filling began.
-- KEYS: filling, window
-- ARGV: the stamp, version, low, high, how long it is fresh and kept (ms), then floor and id of each
-- Answer: 1 if it was filled in, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = KEYS[2]
local version, low, high = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local fresh_until, is_new = now + ARGV[5], true

local function number_of(name) return -1 - redis.call('ZSCORE', window, name) end

-- The part joins the window if the two touch, and expires with it; otherwise it replaces it.
if redis.call('EXISTS', window) == 1 then
  if number_of('U') > now and low <= number_of('H') + 1 and high >= number_of('L') - 1 then
    low, high = math.min(low, number_of('L')), math.max(high, number_of('H'))
    version, fresh_until, is_new = math.max(version, number_of('V')), number_of('U'), false
  else
    redis.call('DEL', window)
  end
end
for i = 7, #ARGV, 2 do redis.call('ZADD', window, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', window, -1 - low, 'L', -1 - high, 'H', -1 - version, 'V', -1 - fresh_until, 'U')
if is_new then redis.call('PEXPIRE', window, ARGV[6]) end
return 1
