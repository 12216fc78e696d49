-- Reserves an idempotency key, unless it is reserved.
--
-- KEYS: the reservation; the marker of its hash tag: the run id of the server and, after a blank, the time
--   since which it has kept every reservation
-- ARGV: the operation, now, how long a reservation lives (times in milliseconds)
-- Answer: the value that was there, or nil; and 1 if no reservation that still lives can have been lost

local before = redis.call('GET', KEYS[1])
if before then return { before, 1 } end
redis.call('SET', KEYS[1], '0' .. ARGV[1], 'PX', ARGV[3])
local marker, run = redis.call('GET', KEYS[2]), run_id()
if not marker or string.sub(marker, 1, 40) ~= run then
  redis.call('SET', KEYS[2], run .. ' ' .. ARGV[2])
  return { false, 0 }
end
local age = tonumber(ARGV[2]) - tonumber(string.sub(marker, 42))
return { false, age >= tonumber(ARGV[3]) and 1 or 0 }
