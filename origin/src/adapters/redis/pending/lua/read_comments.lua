-- Reads comments.
--
-- KEYS: the comments
-- Answer: the name of the server, empty if none of them is here; then the value of each, or nil

local values = redis.call('MGET', unpack(KEYS))
local run = ''
for i = 1, #KEYS do
  if values[i] then run = run_id() end
end
return { run, unpack(values, 1, #KEYS) }
