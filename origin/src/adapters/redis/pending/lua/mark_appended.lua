-- Adds an appended comment to its member's list, and marks its reservation as appended. A reservation of
-- another operation is left as it is.
--
-- KEYS: the member's list, sorted by time; the reservation, if there is one
-- ARGV: the comment, its time, how long it is shown, how many comments the list keeps; with a reservation the
--   operation, what is kept of it, and how long a reservation lives (times in milliseconds)

local id, at, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[2], id)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', at - ttl))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[4]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if KEYS[2] then
  local holder = redis.call('GET', KEYS[2])
  if not holder or string.sub(holder, 2) == ARGV[5] then redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[7]) end
end
