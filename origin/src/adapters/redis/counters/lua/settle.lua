-- Takes over into views what their rows contain.
--
-- A pair gets the operations that were never folded here before the base moves past them. Otherwise it
-- would continue from what its member thought before them. A missing view is created, so that for a
-- minute no reaction state from before the batch is used. A lost slot drops its old views all the same.
--
-- KEYS: for each slot its marker and index, then for each of its comments the view and its order
-- ARGV: for each slot the number of comments; for each of them likes, dislikes, offset and the number of
--   operations; for each operation: offset, member, operation
-- Answer: one for each slot: comments with operations that rows contain and that were not settled

-- Comments answered for each slot.
local MAX_UNSETTLED = 10

-- Inserts operations into the pairs that lack them. Returns whether there were any.
local function insert_missing(view, from, operations)
  local members, inserted = {}, {}
  for i = 0, operations - 1 do members[i + 1] = ARGV[from + 3 * i + 1] end
  for first = 1, operations, CHUNK do
    local last = math.min(first + CHUNK - 1, operations)
    for i, value in ipairs(redis.call('HMGET', view.key, unpack(members, first, last))) do
      local at = from + 3 * (first + i - 2)
      local offset, member, op = ARGV[at], ARGV[at + 1], ARGV[at + 2]
      if value and not string.find(value, '%D' .. offset .. '%D') then
        local pair = inserted[member] or parse_pair(value)
        count_pair(view, pair, -1)
        if insert_operation(pair, offset, op) then inserted[member] = pair end
        count_pair(view, pair, 1)
      end
    end
  end
  if not next(inserted) then return false end
  for _, pair in pairs(inserted) do
    count_pair(view, pair, -1)
    settle_pair(pair, view.base)
    count_pair(view, pair, 1)
  end
  write_pairs(view, inserted)
  return true
end

-- Settles the views of one slot. Its keys come after `keys`, its arguments begin at `at`. Returns the
-- comments that were not settled, and where the arguments of the next slot begin.
local function settle_slot(keys, at, comments)
  local open = enter_slot(KEYS[keys + 1])
  local index, reached, newest = KEYS[keys + 2], open or 0, 0
  for which = 1, comments do
    local row_likes, row_dislikes, position = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local operations = tonumber(ARGV[at + 3])
    local key, order = KEYS[keys + 1 + 2 * which], KEYS[keys + 2 + 2 * which]
    local view = load_view(index, key, order, reached)
    if view then
      local changed = view.pairs > 0 and insert_missing(view, at + 4, operations)
      if position > view.base then
        rebase(view, position, row_likes, row_dislikes)
        changed = true
      end
      if changed then save_view(view) end
    elseif open and position >= reached then
      save_view(create_view(index, key, order, position, row_likes, row_dislikes))
    end
    newest = math.max(newest, position)
    at = at + 4 + 3 * operations
  end
  return redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. text(newest), 'LIMIT', 0, MAX_UNSETTLED), at
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments = tonumber(ARGV[at])
  slots[#slots + 1], at = settle_slot(keys, at + 1, comments)
  keys = keys + 2 + 2 * comments
end
return slots
