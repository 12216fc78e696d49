-- What a member's pending operations make of comments.
--
-- KEYS: the slot's marker, then the comments' views.
-- ARGV: the member.
-- Answer: nil when the slot is lost; else one a comment: what the member thinks, or '?' when nothing
--   of theirs is pending.

local reached = opened(KEYS[1])
if not reached then return nil end

local answer = {}
for i = 2, #KEYS do
  local f = redis.call('HMGET', KEYS[i], 'b', ARGV[1])
  local known = f[1] and f[2] and tonumber(f[1]) >= reached
  answer[i - 1] = known and final(parse(f[2])) or '?'
end
return answer
