-- Names this process of this server. A server that came back from a snapshot, and a replica that took
-- over, hold what was written under another name: what they lack is not known. It is asked for once a
-- script: INFO costs as much as all else that a small script does.
local known_run_id
local function run_id()
  if not known_run_id then
    local info = redis.call('INFO', 'server')
    local _, at = string.find(info, 'run_id:', 1, true)
    known_run_id = string.sub(info, at + 1, at + 40)
  end
  return known_run_id
end

