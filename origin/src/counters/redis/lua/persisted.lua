-- Tells views what their rows hold.
--
-- A pair hears of operations that never were folded here before the base moves past them: else it
-- would count on from what its member thought before them. A view that is not there is made, so that
-- for a minute no standing from before the batch is counted on from. A lost slot forgets all the same.
--
-- KEYS: the slot's marker and index, then of each comment its view and its order.
-- ARGV: of each comment likes, dislikes, position and how many operations follow; three an operation:
--   offset, member, operation.
-- Answer: comments with operations that rows hold and of which nobody told.

local LEFT = 10

local open = opened(KEYS[1])
local reached = open or 0

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

local at, which, newest = 1, 0, 0
while at <= #ARGV do
  which = which + 1
  local l, d, position = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local operations = tonumber(ARGV[at + 3])
  local view = load(KEYS[2], KEYS[1 + 2 * which], KEYS[2 + 2 * which], reached)
  if view then
    local changed = view.n > 0 and hear(view, at + 4, operations)
    if position > view.b then
      rebase(view, position, l, d)
      changed = true
    end
    if changed then save(view) end
  elseif open and position >= reached then
    save(create(KEYS[2], KEYS[1 + 2 * which], KEYS[2 + 2 * which], position, l, d))
  end
  newest = math.max(newest, position)
  at = at + 4 + 3 * operations
end
return redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. text(newest), 'LIMIT', 0, LEFT)
