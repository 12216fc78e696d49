-- Names this process of this server. A server that came back from a snapshot, and a replica that took
-- over, hold what was written under another name: what they lack is not known.
local function run_id()
  local info = redis.call('INFO', 'server')
  local _, at = string.find(info, 'run_id:', 1, true)
  return string.sub(info, at + 1, at + 40)
end

