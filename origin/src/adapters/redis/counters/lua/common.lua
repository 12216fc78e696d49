-- What the scripts of the counters share. It is put in front of each of them.
--
-- Keys of a slot, all with its hash tag, and how often the log was accepted, if ever:
--   :open      marker of an open slot: the run id of its server, the offset that its rows had reached,
--              and the newest base of a view without pending operations
--   :w         index, a sorted set: comments with pending operations, by the offset of the first
--   :v:<id>    hash: the view of a comment
--   :o:<id>    order, a sorted set: members with pending operations on the comment, by the offset of
--              the first
--   :opening:<token>  token of a recovery
--   :recovering  claim of a recovery, at the first of its slots: the run id of its server and the holder
--
-- Stored fields of a view, which `load_view` gives names: `b` the offset of its base, `l` and `d` likes
-- and dislikes there, `L` and `D` what the pending operations add to them, `n` the number of pending
-- pairs; and one field for each pair, by member: the offset `from`, what the member thought there, and
-- the operations as offset and letter, ascending: `3-10l15L`. Thoughts are `l` like, `d` dislike, `-`
-- none. Operations `l` and `d` put one, `L` and `D` take it back. The operations of a pair are never
-- before `b`.
--
-- Comments and members have 63 bits, so they stay strings. Offsets and counts are below 2^53. An offset
-- is never concatenated as a number, which would round it to 14 digits.
--
-- A view with pending pairs has no expiry, so that no volatile-* policy evicts it. Without pending pairs
-- it expires after a minute.

local VIEW_TTL_SECONDS = 60
-- Values in one command; Lua's stack takes a few thousand.
local CHUNK = 1000

local FOLD = {
  l = { ['-'] = 'l', l = 'l', d = 'l' },
  d = { ['-'] = 'd', l = 'd', d = 'd' },
  L = { ['-'] = '-', l = '-', d = 'd' },
  D = { ['-'] = '-', l = 'l', d = '-' },
}

-- An offset as text; concatenating the number would round it.
local function text(offset)
  return string.format('%.0f', offset)
end

-- The current slot: the key of its marker, the offset that its rows had reached when it was opened, and
-- the newest base of a view that may have been evicted since.
local slot = { key = nil, reached = nil, evictable = nil }

-- Makes the slot of this marker current. Returns the offset that its rows had reached when it was opened;
-- nil if the slot is lost.
local function enter_slot(key)
  slot.key = nil
  local marker = redis.call('GET', key)
  if not marker or string.sub(marker, 1, 40) ~= run_id() then return nil end
  local reached, evictable = string.match(marker, '^(%d+) ?(%d*)$', 42)
  slot.key, slot.reached = key, tonumber(reached)
  slot.evictable = tonumber(evictable) or slot.reached
  return slot.reached
end

-- Remembers that a view with this base may be evicted: no older reaction state may create it again.
local function allow_eviction(base)
  if slot.key and base > slot.evictable then
    slot.evictable = base
    redis.call('SET', slot.key, run_id() .. ' ' .. text(slot.reached) .. ' ' .. text(base))
  end
end

-- Loads the view of a comment; nil if there is none. A view from before the slot was opened is deleted:
-- what it contains is in the rows, and what it lacks is not known.
local function load_view(index, key, order, reached)
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
    base = tonumber(f[1]), likes = tonumber(f[2]), dislikes = tonumber(f[3]),
    added_likes = tonumber(f[4]), added_dislikes = tonumber(f[5]),
    pairs = tonumber(f[6]), pairs_before = tonumber(f[6]),
  }
end

local function create_view(index, key, order, base, likes, dislikes)
  local id = string.match(key, '%d+$')
  return {
    index = index, key = key, order = order, id = id,
    base = base, likes = likes, dislikes = dislikes,
    added_likes = 0, added_dislikes = 0, pairs = 0, pairs_before = 0,
  }
end

-- Writes the fields of the view itself, its entry in the index and its expiry.
local function save_view(view)
  redis.call('HSET', view.key, 'b', view.base, 'l', view.likes, 'd', view.dislikes,
    'L', view.added_likes, 'D', view.added_dislikes, 'n', view.pairs)
  if view.pairs == 0 then
    redis.call('EXPIRE', view.key, VIEW_TTL_SECONDS)
    allow_eviction(view.base)
    if view.pairs_before > 0 then redis.call('ZREM', view.index, view.id) end
  elseif view.pairs_before == 0 or view.moved then
    local first = redis.call('ZRANGE', view.order, 0, 0, 'WITHSCORES')
    redis.call('ZADD', view.index, first[2], view.id)
    if view.pairs_before == 0 then redis.call('PERSIST', view.key) end
  end
end

-- Likes and dislikes with the pending operations.
local function current_counts(view)
  return math.max(0, view.likes + view.added_likes), math.max(0, view.dislikes + view.added_dislikes)
end

local function parse_pair(value)
  local from, state, rest = string.match(value, '^(%d+)(%D)(.*)$')
  local pair = { from = from, state = state, ops = {} }
  for offset, op in string.gmatch(rest, '(%d+)(%D)') do
    pair.ops[#pair.ops + 1] = { offset, op }
  end
  return pair
end

-- What the member thinks after all operations.
local function final_state(pair)
  local state = pair.state
  for _, op in ipairs(pair.ops) do state = FOLD[op[2]][state] end
  return state
end

local function add_state(view, state, by)
  if state == 'l' then
    view.added_likes = view.added_likes + by
  elseif state == 'd' then
    view.added_dislikes = view.added_dislikes + by
  end
end

-- Adds (1) or removes (-1) what a pair adds to the base.
local function count_pair(view, pair, by)
  add_state(view, final_state(pair), by)
  add_state(view, pair.state, -by)
end

-- Inserts an operation by its offset. One from before `from`, or one that is there, changes nothing.
local function insert_operation(pair, offset, op)
  local at = tonumber(offset)
  if at < tonumber(pair.from) then return false end
  local place = #pair.ops + 1
  while place > 1 and tonumber(pair.ops[place - 1][1]) >= at do place = place - 1 end
  if pair.ops[place] and pair.ops[place][1] == offset then return false end
  table.insert(pair.ops, place, { offset, op })
  return true
end

-- Folds the operations before an offset into the state of the pair.
local function settle_pair(pair, position)
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

-- Writes pairs of a view, by member. Pairs without operations are deleted.
local function write_pairs(view, changed)
  local set, scores, gone = {}, {}, {}
  local function flush()
    if #set > 0 then
      redis.call('HSET', view.key, unpack(set))
      redis.call('ZADD', view.order, unpack(scores))
    end
    if #gone > 0 then
      redis.call('HDEL', view.key, unpack(gone))
      redis.call('ZREM', view.order, unpack(gone))
      view.pairs = view.pairs - #gone
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

-- Moves the base of the view to counts at a later offset. Only pairs with operations before it change.
local function rebase(view, position, likes, dislikes)
  view.base, view.likes, view.dislikes, view.moved = position, likes, dislikes, true
  repeat
    local members = redis.call('ZRANGEBYSCORE', view.order, '-inf', '(' .. text(position), 'LIMIT', 0, CHUNK)
    local changed = {}
    if #members > 0 then
      for i, value in ipairs(redis.call('HMGET', view.key, unpack(members))) do
        local pair = parse_pair(value)
        count_pair(view, pair, -1)
        settle_pair(pair, position)
        count_pair(view, pair, 1)
        changed[members[i]] = pair
      end
      write_pairs(view, changed)
    end
  until #members < CHUNK
end
