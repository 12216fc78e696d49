-- Claims the recovery of some slots, or prolongs the holder's own claim. A claim on another server is void:
-- what its holder has begun there is lost.
--
-- KEYS: the claim
-- ARGV: the holder, how long (ms)
-- Answer: 1 if the holder has it, else 0

local claim, own = redis.call('GET', KEYS[1]), run_id() .. ' ' .. ARGV[1]
if claim and claim ~= own and string.sub(claim, 1, 40) == run_id() then return 0 end
redis.call('SET', KEYS[1], own, 'PX', ARGV[2])
return 1
