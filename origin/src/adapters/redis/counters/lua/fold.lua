-- Folds operations into the views of their comments, in the given order.
--
-- KEYS: for each slot its marker and index, then for each of its comments the view and its order
-- ARGV: for each slot the number of comments and the number of operations; for each operation: which
--   comment (from 1), member, offset, operation, and the reaction state: its offset, what the member
--   thought there, likes, dislikes
-- Answer: one for each slot: nil if it is lost; else three for each operation: likes, dislikes, and what
--   the member thinks, or '?' if the reaction state is too old

-- Folds one operation. Returns what the member thinks after it; nil if the reaction state is too old.
local function fold_operation(view, member, offset, op, position, reaction)
  local state_offset = tonumber(position)
  local value = redis.call('HGET', view.key, member)
  if not value then
    if state_offset < view.base then return nil end
    if tonumber(offset) < view.base then return reaction end
    local state = FOLD[op][reaction]
    redis.call('HSET', view.key, member, position .. reaction .. offset .. op)
    redis.call('ZADD', view.order, offset, member)
    add_state(view, state, 1)
    add_state(view, reaction, -1)
    view.pairs = view.pairs + 1
    return state
  end
  local pair = parse_pair(value)
  count_pair(view, pair, -1)
  local changed = false
  if state_offset > tonumber(pair.from) then
    pair.from, pair.state, changed = position, reaction, true
  end
  if insert_operation(pair, offset, op) then changed = true end
  if tonumber(pair.ops[1][1]) < view.base then settle_pair(pair, view.base) end
  count_pair(view, pair, 1)
  if changed then write_pairs(view, { [member] = pair }) end
  return final_state(pair)
end

-- Folds the operations of one slot. Its keys come after `keys`, its arguments begin at `from`.
local function fold_slot(keys, from, operations)
  local reached = enter_slot(KEYS[keys + 1])
  if not reached then return false end
  local index, views, answer = KEYS[keys + 2], {}, {}
  for at = from, from + 8 * operations - 1, 8 do
    local which, position = tonumber(ARGV[at]), tonumber(ARGV[at + 4])
    local row_likes, row_dislikes = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
    local key, order = KEYS[keys + 1 + 2 * which], KEYS[keys + 2 + 2 * which]
    local view = views[which] or load_view(index, key, order, reached)
    local state = nil
    if not view and position >= slot.evictable then
      view = create_view(index, key, order, position, row_likes, row_dislikes)
    end
    if view then
      views[which] = view
      if position > view.base then rebase(view, position, row_likes, row_dislikes) end
      state = fold_operation(view, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
    end
    local likes, dislikes = 0, 0
    if view then likes, dislikes = current_counts(view) end
    answer[#answer + 1] = likes
    answer[#answer + 1] = dislikes
    answer[#answer + 1] = state or '?'
  end
  for _, view in pairs(views) do save_view(view) end
  return answer
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments, operations = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  slots[#slots + 1] = fold_slot(keys, at + 2, operations)
  keys, at = keys + 2 + 2 * comments, at + 2 + 8 * operations
end
return slots
