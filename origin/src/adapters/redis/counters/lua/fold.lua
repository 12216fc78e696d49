-- Folds operations into the views of their comments, in the order given.
--
-- KEYS: of each slot its marker and index, then of each of its comments its view and its order.
-- ARGV: of each slot how many comments and how many operations follow; then eight an operation: which
--   comment (from 1), member, offset, operation, and the standing: position, what the member thought
--   there, likes, dislikes.
-- Answer: one a slot: nil when it is lost; else three an operation: likes, dislikes, and what the
--   member thinks, or '?' when the standing is too old.

-- What the member thinks after it; nil when the standing is too old.
local function fold(view, member, offset, op, position, reaction)
  local stands = tonumber(position)
  local value = redis.call('HGET', view.key, member)
  if not value then
    if stands < view.b then return nil end
    if tonumber(offset) < view.b then return reaction end
    local state = FOLD[op][reaction]
    redis.call('HSET', view.key, member, position .. reaction .. offset .. op)
    redis.call('ZADD', view.order, offset, member)
    add(view, state, 1)
    add(view, reaction, -1)
    view.n = view.n + 1
    return state
  end
  local pair = parse(value)
  count(view, pair, -1)
  local changed = false
  if stands > tonumber(pair.from) then
    pair.from, pair.state, changed = position, reaction, true
  end
  if insert(pair, offset, op) then changed = true end
  if tonumber(pair.ops[1][1]) < view.b then settle(pair, view.b) end
  count(view, pair, 1)
  if changed then write(view, { [member] = pair }) end
  return final(pair)
end

-- Folds the operations of one slot, whose keys are those after `keys`; those of ARGV begin at `from`.
local function fold_all(keys, from, operations)
  local reached = opened(KEYS[keys + 1])
  if not reached then return false end
  local index, views, answer = KEYS[keys + 2], {}, {}
  for at = from, from + 8 * operations - 1, 8 do
    local which, position = tonumber(ARGV[at]), tonumber(ARGV[at + 4])
    local l, d = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
    local key, order = KEYS[keys + 1 + 2 * which], KEYS[keys + 2 + 2 * which]
    local view = views[which] or load(index, key, order, reached)
    local state = nil
    if not view and position >= slot.evictable then
      view = create(index, key, order, position, l, d)
    end
    if view then
      views[which] = view
      if position > view.b then rebase(view, position, l, d) end
      state = fold(view, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
    end
    local likes, dislikes = 0, 0
    if view then likes, dislikes = shown(view) end
    answer[#answer + 1] = likes
    answer[#answer + 1] = dislikes
    answer[#answer + 1] = state or '?'
  end
  for _, view in pairs(views) do save(view) end
  return answer
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments, operations = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  slots[#slots + 1] = fold_all(keys, at + 2, operations)
  keys, at = keys + 2 + 2 * comments, at + 2 + 8 * operations
end
return slots
