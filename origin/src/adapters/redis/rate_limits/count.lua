-- Counts a request against limits, unless one of them is used up: then it counts against none.
-- KEYS: one for each limit and what it counts: when the requests so far are paid off at the limit's
--       rate (microseconds of this server's clock)
-- ARGV: for each key: the time between two requests at the limit's rate, how far ahead of now a key
--       may be (both in microseconds)
-- Answer: 0, 0; or the number of the first limit that refuses, and the time to wait (microseconds)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local paid = {}
for i, key in ipairs(KEYS) do
  local interval, ahead = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local stored = tonumber(redis.call('GET', key) or now)
  -- The clock of a replica that became the master may be behind.
  stored = math.min(math.max(stored, now), now + ahead + interval)
  if stored > now + ahead then return { i, stored - ahead - now } end
  paid[i] = stored + interval
end
for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', paid[i]), 'PX', math.ceil((paid[i] - now) / 1000))
end
return { 0, 0 }
