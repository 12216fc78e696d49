-- Gives up a claim, unless another holder has it.
--
-- KEYS: the claim
-- ARGV: the holder

if redis.call('GET', KEYS[1]) == run_id() .. ' ' .. ARGV[1] then redis.call('DEL', KEYS[1]) end
