-- Voids values and moves comments in lists, as commits say.
-- KEYS: generation, values, then for each list: newest, oldest, filling
-- ARGV: a new stamp, takedown (1 or 0), life of a generation (ms), entries a list keeps, number of
-- values; for each value: version, gone (1 or 0); for each list: number of moves, and for each, by
-- version: listed (1 or 0), floor, id, version
local stamp, keeps = ARGV[1], tonumber(ARGV[4])
local values = tonumber(ARGV[5])
local at = 6

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
  local head = redis.call('GETRANGE', KEYS[i], 0, 32)
  if head ~= '' and (head:sub(1, 1) == 'c' or tonumber(head:sub(18, 33)) <= tonumber(version)) then
    local void = 't' .. stamp .. version
    if gone == '1' then
      redis.call('SET', KEYS[i], void .. string.rep('0', 29), 'KEEPTTL')
    else
      redis.call('SETRANGE', KEYS[i], 0, void)
    end
  end
end

-- The marks of a list stand below all floors: -1 - number.
local function mark(window, name) return -1 - redis.call('ZSCORE', window, name) end

local function trim(window, oldest)
  local entries = redis.call('ZCARD', window) - 4
  if entries <= 2 * keeps then return end
  if oldest then
    redis.call('DEL', window)
    return
  end
  local drop = entries - keeps
  local low = redis.call('ZRANGE', window, 4 + drop, 4 + drop, 'WITHSCORES')[2]
  redis.call('ZREMRANGEBYRANK', window, 4, 3 + drop)
  redis.call('ZADD', window, -1 - low, 'L')
end

for i = 2 + values, #KEYS, 3 do
  local moves = tonumber(ARGV[at])
  local first, last = at + 1, at + 4 * moves
  at = last + 1
  if redis.call('EXISTS', KEYS[i + 2]) == 1 then
    redis.call('SET', KEYS[i + 2], stamp, 'KEEPTTL')
  end
  for w = 0, 1 do
    local window = KEYS[i + w]
    if redis.call('EXISTS', window) == 1 then
      if tonumber(ARGV[first + 3]) < mark(window, 'V') then
        redis.call('DEL', window)
      else
        local low, high = mark(window, 'L'), mark(window, 'H')
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
