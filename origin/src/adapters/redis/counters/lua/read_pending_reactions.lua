-- Reads what a member thinks of comments after the pending operations.
--
-- KEYS: the slot's marker, then the views of the comments
-- ARGV: the member
-- Answer: nil if the slot is lost; else one for each comment: what the member thinks, or '?' without
--   pending operations

local reached = enter_slot(KEYS[1])
if not reached then return nil end

local answer = {}
for i = 2, #KEYS do
  local f = redis.call('HMGET', KEYS[i], 'b', ARGV[1])
  local is_pending = f[1] and f[2] and tonumber(f[1]) >= reached
  answer[i - 1] = is_pending and final_state(parse_pair(f[2])) or '?'
end
return answer
