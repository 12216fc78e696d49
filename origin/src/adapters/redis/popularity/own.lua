-- Takes leases, or prolongs one's own
-- KEYS: the leases
-- ARGV: who, how long (ms)
local owned = {}
for i, lease in ipairs(KEYS) do
  local holder = redis.call('GET', lease)
  owned[i] = 0
  if not holder or holder == ARGV[1] then
    redis.call('SET', lease, ARGV[1], 'PX', ARGV[2])
    owned[i] = 1
  end
end
return owned
