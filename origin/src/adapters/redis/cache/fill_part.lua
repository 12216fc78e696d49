-- Fills a part of a list in, unless the list changed since the filling began, or its changes may be lost.
-- KEYS: the generation, the era, filling, window, the era of the window's filling
-- ARGV: the era and the stamp that the filling began with, version, low, high, how long it is fresh and kept (ms),
--       the lifetime of a generation (ms), then floor and id of each
-- Answer: 1 if it was filled in, else 0
local era = enter_era(KEYS[1], KEYS[2], ARGV[8])
if era ~= ARGV[1] or redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, filled_in = KEYS[4], redis.call('GET', KEYS[5]) or ''
local version, low, high = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local fresh_until, is_new = now + ARGV[6], true
-- What the part contains for certain.
local contained = version

local function number_of(name) return -1 - redis.call('ZSCORE', window, name) end

-- The part joins the window if the two touch, and expires with it; otherwise it replaces it.
if redis.call('EXISTS', window) == 1 then
  local is_fresh = number_of('U') > now and string.sub(filled_in, 1, 16) == era
  if is_fresh and low <= number_of('H') + 1 and high >= number_of('L') - 1 then
    low, high = math.min(low, number_of('L')), math.max(high, number_of('H'))
    version, fresh_until, is_new = math.max(version, number_of('V')), number_of('U'), false
    contained = math.min(contained, tonumber(string.sub(filled_in, 17)) or 0)
  else
    redis.call('DEL', window)
  end
end
for i = 9, #ARGV, 2 do redis.call('ZADD', window, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', window, -1 - low, 'L', -1 - high, 'H', -1 - version, 'V', -1 - fresh_until, 'U')
filled_in = era .. string.format('%016.0f', contained)
if is_new then
  redis.call('PEXPIRE', window, ARGV[7])
  redis.call('SET', KEYS[5], filled_in, 'PX', ARGV[7])
else
  redis.call('SET', KEYS[5], filled_in, 'KEEPTTL')
end
return 1
