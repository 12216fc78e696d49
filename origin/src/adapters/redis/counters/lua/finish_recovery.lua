-- Opens a slot, unless its token is gone: then it was lost again meanwhile.
--
-- A slot that is open already stays as it is, because it contains newer operations. In a lost slot every
-- view with pending operations is from before the loss, and those operations are in the rows.
--
-- KEYS: the token, the slot's marker and index
-- ARGV: the offset that its rows have reached
-- Answer: 1, or 0 if the token is gone

if redis.call('GET', KEYS[1]) ~= run_id() then return 0 end
if not enter_slot(KEYS[2]) then
  local tag = string.match(KEYS[2], '^(.*):open$')
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    redis.call('UNLINK', tag .. ':v:' .. id, tag .. ':o:' .. id)
  end
  redis.call('DEL', KEYS[3])
  redis.call('SET', KEYS[2], run_id() .. ' ' .. ARGV[1])
end
redis.call('DEL', KEYS[1])
return 1
