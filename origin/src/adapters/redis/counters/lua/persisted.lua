-- Tells views what their rows hold.
--
-- A pair hears of operations that never were folded here before the base moves past them: else it
-- would count on from what its member thought before them. A view that is not there is made, so that
-- for a minute no standing from before the batch is counted on from. A lost slot forgets all the same.
--
-- KEYS: of each slot its marker and index, then of each of its comments its view and its order.
-- ARGV: of each slot how many comments follow; of each comment likes, dislikes, position and how many
--   operations follow; three an operation: offset, member, operation.
-- Answer: one a slot: comments with operations that rows hold and of which nobody told.

local LEFT = 10

-- Puts operations into the pairs that lack them; whether there were any.
local function hear(view, from, operations)
  local members, heard = {}, {}
  for i = 0, operations - 1 do members[i + 1] = ARGV[from + 3 * i + 1] end
  for first = 1, operations, CHUNK do
    local last = math.min(first + CHUNK - 1, operations)
    for i, value in ipairs(redis.call('HMGET', view.key, unpack(members, first, last))) do
      local at = from + 3 * (first + i - 2)
      local offset, member, op = ARGV[at], ARGV[at + 1], ARGV[at + 2]
      if value and not string.find(value, '%D' .. offset .. '%D') then
        local pair = heard[member] or parse(value)
        count(view, pair, -1)
        if insert(pair, offset, op) then heard[member] = pair end
        count(view, pair, 1)
      end
    end
  end
  if not next(heard) then return false end
  for _, pair in pairs(heard) do
    count(view, pair, -1)
    settle(pair, view.b)
    count(view, pair, 1)
  end
  write(view, heard)
  return true
end

-- Tells the views of one slot, whose keys are those after `keys`; those of ARGV begin at `at`. Whom
-- nobody told, and where the next slot's values begin.
local function tell_all(keys, at, comments)
  local open = opened(KEYS[keys + 1])
  local index, reached, newest = KEYS[keys + 2], open or 0, 0
  for which = 1, comments do
    local l, d, position = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local operations = tonumber(ARGV[at + 3])
    local key, order = KEYS[keys + 1 + 2 * which], KEYS[keys + 2 + 2 * which]
    local view = load(index, key, order, reached)
    if view then
      local changed = view.n > 0 and hear(view, at + 4, operations)
      if position > view.b then
        rebase(view, position, l, d)
        changed = true
      end
      if changed then save(view) end
    elseif open and position >= reached then
      save(create(index, key, order, position, l, d))
    end
    newest = math.max(newest, position)
    at = at + 4 + 3 * operations
  end
  return redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. text(newest), 'LIMIT', 0, LEFT), at
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments = tonumber(ARGV[at])
  slots[#slots + 1], at = tell_all(keys, at + 1, comments)
  keys = keys + 2 + 2 * comments
end
return slots
