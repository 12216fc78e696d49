-- Claims names, or prolongs the caller's own claims.
-- KEYS: the claims
-- ARGV: the holder, how long (ms)
-- Answer: one a claim: 1 if the caller holds it, else 0
local claimed = {}
for i, claim in ipairs(KEYS) do
  local holder = redis.call('GET', claim)
  claimed[i] = 0
  if not holder or holder == ARGV[1] then
    redis.call('SET', claim, ARGV[1], 'PX', ARGV[2])
    claimed[i] = 1
  end
end
return claimed
