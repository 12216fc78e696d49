-- Returns the name of this process of this server. A server that restarted from a snapshot, and a
-- replica that became the master, hold values that were written under another name: what they lack is
-- not known. The name is read once a script, because INFO costs as much as the rest of a small script.
local known_run_id
local function run_id()
  if not known_run_id then
    local info = redis.call('INFO', 'server')
    local _, at = string.find(info, 'run_id:', 1, true)
    known_run_id = string.sub(info, at + 1, at + 40)
  end
  return known_run_id
end

