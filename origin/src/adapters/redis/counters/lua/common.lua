-- What the counters' scripts share. It is put in front of each of them.
--
-- Keys of a slot, all with its hash tag:
--   :open      run id of the server that was opened, the position its rows had reached, and the newest
--              base of a view that nothing was pending in
--   :w         sorted set: comments with pending operations, by the offset of their first
--   :v:<id>    hash: a comment's view
--   :o:<id>    sorted set: members with pending operations on it, by the offset of their first
--
-- A view's fields: `b` its base position, `l` and `d` likes and dislikes there, `L` and `D` what the
-- pending operations add to them, `n` how many pairs are pending; and one field a pair, by member:
-- the position `from`, what the member thought there, and operations as offset and letter, ascending:
-- `3-10l15L`. Thoughts are `l` like, `d` dislike, `-` none; operations `l` and `d` put one, `L` and
-- `D` take it back. A pair's operations are never before `b`.
--
-- Comments and members have 63 bits: they stay strings. Offsets, positions and counts are below 2^53.
-- Offsets are never joined to strings as numbers, which would round them to 14 digits.
--
-- With pending pairs a view has no expiry, so that no volatile-* policy evicts it; without, a minute.

local EXPIRY = 60
-- Values a command is given at once; Lua's stack takes some thousands.
local CHUNK = 1000

local FOLD = {
  l = { ['-'] = 'l', l = 'l', d = 'l' },
  d = { ['-'] = 'd', l = 'd', d = 'd' },
  L = { ['-'] = '-', l = '-', d = 'd' },
  D = { ['-'] = '-', l = 'l', d = '-' },
}

-- A position as text; joining the number would round it.
local function text(position)
  return string.format('%.0f', position)
end

-- The slot that is worked on: its marker's key, the position its rows had reached when it was opened,
-- and the newest base of a view that may have been evicted since.
local slot = { key = nil, reached = nil, evictable = nil }

-- Goes on to the slot of this marker. The position its rows had reached when it was opened; nil when
-- it is lost.
local function opened(key)
  slot.key = nil
  local marker = redis.call('GET', key)
  if not marker or string.sub(marker, 1, 40) ~= run_id() then return nil end
  local reached, evictable = string.match(marker, '^(%d+) ?(%d*)$', 42)
  slot.key, slot.reached = key, tonumber(reached)
  slot.evictable = tonumber(evictable) or slot.reached
  return slot.reached
end

-- Remembers that a view of this base may be evicted: no standing from before it may make it anew.
local function release(base)
  if slot.key and base > slot.evictable then
    slot.evictable = base
    redis.call('SET', slot.key, run_id() .. ' ' .. text(slot.reached) .. ' ' .. text(base))
  end
end

-- A comment's view; nil when there is none. One from before the slot was opened is dropped: what it
-- knows is in the rows, what it lacks is not known.
local function load(index, key, order, reached)
  local f = redis.call('HMGET', key, 'b', 'l', 'd', 'L', 'D', 'n')
  if not f[1] then return nil end
  local id = string.match(key, '%d+$')
  if tonumber(f[1]) < reached then
    redis.call('UNLINK', key, order)
    redis.call('ZREM', index, id)
    return nil
  end
  return {
    index = index, key = key, order = order, id = id,
    b = tonumber(f[1]), l = tonumber(f[2]), d = tonumber(f[3]), L = tonumber(f[4]), D = tonumber(f[5]),
    n = tonumber(f[6]), had = tonumber(f[6]),
  }
end

local function create(index, key, order, b, l, d)
  local id = string.match(key, '%d+$')
  return { index = index, key = key, order = order, id = id, b = b, l = l, d = d, L = 0, D = 0, n = 0, had = 0 }
end

-- Writes the view's own fields, its place in the index and its expiry.
local function save(view)
  redis.call('HSET', view.key, 'b', view.b, 'l', view.l, 'd', view.d, 'L', view.L, 'D', view.D, 'n', view.n)
  if view.n == 0 then
    redis.call('EXPIRE', view.key, EXPIRY)
    release(view.b)
    if view.had > 0 then redis.call('ZREM', view.index, view.id) end
  elseif view.had == 0 or view.moved then
    local first = redis.call('ZRANGE', view.order, 0, 0, 'WITHSCORES')
    redis.call('ZADD', view.index, first[2], view.id)
    if view.had == 0 then redis.call('PERSIST', view.key) end
  end
end

local function shown(view)
  return math.max(0, view.l + view.L), math.max(0, view.d + view.D)
end

local function parse(value)
  local from, state, rest = string.match(value, '^(%d+)(%D)(.*)$')
  local pair = { from = from, state = state, ops = {} }
  for offset, op in string.gmatch(rest, '(%d+)(%D)') do
    pair.ops[#pair.ops + 1] = { offset, op }
  end
  return pair
end

-- What the member thinks after all operations.
local function final(pair)
  local state = pair.state
  for _, op in ipairs(pair.ops) do state = FOLD[op[2]][state] end
  return state
end

local function add(view, state, by)
  if state == 'l' then view.L = view.L + by elseif state == 'd' then view.D = view.D + by end
end

-- Counts (1) or uncounts (-1) what a pair adds to the base.
local function count(view, pair, by)
  add(view, final(pair), by)
  add(view, pair.state, -by)
end

-- Puts an operation in its place. One from before `from`, or known already, changes nothing.
local function insert(pair, offset, op)
  local at = tonumber(offset)
  if at < tonumber(pair.from) then return false end
  local place = #pair.ops + 1
  while place > 1 and tonumber(pair.ops[place - 1][1]) >= at do place = place - 1 end
  if pair.ops[place] and pair.ops[place][1] == offset then return false end
  table.insert(pair.ops, place, { offset, op })
  return true
end

-- Folds the operations before the position into the pair's state.
local function settle(pair, position)
  local kept = {}
  for _, op in ipairs(pair.ops) do
    if tonumber(op[1]) < position then
      pair.state = FOLD[op[2]][pair.state]
      pair.from = text(position)
    else
      kept[#kept + 1] = op
    end
  end
  pair.ops = kept
end

-- Writes pairs of a view, by member; those without operations are dropped.
local function write(view, changed)
  local set, scores, gone = {}, {}, {}
  local function flush()
    if #set > 0 then
      redis.call('HSET', view.key, unpack(set))
      redis.call('ZADD', view.order, unpack(scores))
    end
    if #gone > 0 then
      redis.call('HDEL', view.key, unpack(gone))
      redis.call('ZREM', view.order, unpack(gone))
      view.n = view.n - #gone
    end
    set, scores, gone = {}, {}, {}
  end
  for member, pair in pairs(changed) do
    if #pair.ops == 0 then
      gone[#gone + 1] = member
    else
      local parts = { pair.from, pair.state }
      for _, op in ipairs(pair.ops) do
        parts[#parts + 1] = op[1]
        parts[#parts + 1] = op[2]
      end
      set[#set + 1] = member
      set[#set + 1] = table.concat(parts)
      scores[#scores + 1] = pair.ops[1][1]
      scores[#scores + 1] = member
    end
    if #set + #gone >= CHUNK then flush() end
  end
  flush()
  view.moved = true
end

-- Brings the view up to counts at a later position; only pairs with operations before it are touched.
local function rebase(view, position, l, d)
  view.b, view.l, view.d, view.moved = position, l, d, true
  repeat
    local members = redis.call('ZRANGEBYSCORE', view.order, '-inf', '(' .. text(position), 'LIMIT', 0, CHUNK)
    local changed = {}
    if #members > 0 then
      for i, value in ipairs(redis.call('HMGET', view.key, unpack(members))) do
        local pair = parse(value)
        count(view, pair, -1)
        settle(pair, position)
        count(view, pair, 1)
        changed[members[i]] = pair
      end
      write(view, changed)
    end
  until #members < CHUNK
end
