-- Invalidates values and moves comments in lists, as commits say.
-- KEYS: the generation, the values, the applied commits of each subject, then for each list: newest, oldest, filling
-- ARGV: a new stamp, takedown (1 or 0), the lifetime of a generation (ms), the most entries of a
--       window, the lifetime of applied commits (ms), the numbers of values and of subjects; for each value:
--       version, gone (1 or 0); for each subject: the number of commits, and their versions, sorted; for each list:
--       the number of moves, and for each move, sorted by version: listed (1 or 0), floor, id, version
local stamp, max_entries = ARGV[1], tonumber(ARGV[4])
local values, subjects = tonumber(ARGV[6]), tonumber(ARGV[7])
local at = 8
-- Commits that may be applied before an earlier one of their subject.
local MAX_EARLY_COMMITS = 64

if ARGV[2] == '1' then
  local time = redis.call('TIME')
  local next = time[1] * 1000000 + time[2]
  local before = redis.call('GET', KEYS[1])
  if before and tonumber(before) >= next then next = tonumber(before) + 1 end
  redis.call('SET', KEYS[1], string.format('%016d', next), 'PX', ARGV[3])
end

for i = 2, 1 + values do
  local version, gone = ARGV[at], ARGV[at + 1]
  at = at + 2
  local header = redis.call('GETRANGE', KEYS[i], 0, 32)
  if header ~= '' and (header:sub(1, 1) == 'c' or tonumber(header:sub(18, 33)) <= tonumber(version)) then
    local invalidated = 't' .. stamp .. version
    if gone == '1' then
      redis.call('SET', KEYS[i], invalidated .. string.rep('0', 29), 'KEEPTTL')
    else
      redis.call('SETRANGE', KEYS[i], 0, invalidated)
    end
  end
end

-- Adds versions of a subject to those that were applied. The last ones alone are kept when too many are missing.
local function add_commits(key, first, last)
  local low, high, early = nil, nil, {}
  for number in string.gmatch(redis.call('GET', key) or '', '%d+') do
    if not low then low = tonumber(number)
    elseif not high then high = tonumber(number)
    else table.insert(early, tonumber(number)) end
  end
  for a = first, last do table.insert(early, tonumber(ARGV[a])) end
  table.sort(early)
  if not high then low, high = early[1] - 1, early[1] - 1 end
  local later = {}
  for _, version in ipairs(early) do
    if version == high + 1 then high = version
    elseif version > high and version ~= later[#later] then table.insert(later, version) end
  end
  if #later > MAX_EARLY_COMMITS then low, high, later = later[#later] - 1, later[#later], {} end
  local text = string.format('%.0f %.0f', low, high)
  for _, version in ipairs(later) do text = text .. string.format(' %.0f', version) end
  redis.call('SET', key, text, 'PX', ARGV[5])
end

for i = 2 + values, 1 + values + subjects do
  local commits = tonumber(ARGV[at])
  add_commits(KEYS[i], at + 1, at + commits)
  at = at + commits + 1
end

-- The number of a window's own member (L, H, V or U).
local function number_of(window, name) return -1 - redis.call('ZSCORE', window, name) end

-- Drops the far end of a window that has twice its most entries.
local function trim(window, is_oldest)
  local entries = redis.call('ZCARD', window) - 4
  if entries <= 2 * max_entries then return end
  if is_oldest then
    redis.call('DEL', window)
    return
  end
  local surplus = entries - max_entries
  local low = redis.call('ZRANGE', window, 4 + surplus, 4 + surplus, 'WITHSCORES')[2]
  redis.call('ZREMRANGEBYRANK', window, 4, 3 + surplus)
  redis.call('ZADD', window, -1 - low, 'L')
end

for i = 2 + values + subjects, #KEYS, 3 do
  local moves = tonumber(ARGV[at])
  local first, last = at + 1, at + 4 * moves
  at = last + 1
  if redis.call('EXISTS', KEYS[i + 2]) == 1 then
    redis.call('SET', KEYS[i + 2], stamp, 'KEEPTTL')
  end
  for w = 0, 1 do
    local window = KEYS[i + w]
    if redis.call('EXISTS', window) == 1 then
      if tonumber(ARGV[first + 3]) < number_of(window, 'V') then
        redis.call('DEL', window)
      else
        local low, high = number_of(window, 'L'), number_of(window, 'H')
        for m = first, last, 4 do
          local floor = tonumber(ARGV[m + 1])
          if ARGV[m] == '0' then
            redis.call('ZREM', window, ARGV[m + 2])
          elseif floor >= low and floor <= high then
            redis.call('ZADD', window, floor, ARGV[m + 2])
          end
        end
        redis.call('ZADD', window, -1 - ARGV[last], 'V')
        trim(window, w == 1)
      end
    end
  end
end
