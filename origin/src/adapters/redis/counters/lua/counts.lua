-- Counts of comments, where the view knows more than the row.
--
-- KEYS: of each slot its marker and index, then of each of its comments its view and its order.
-- ARGV: of each slot how many comments follow; three a comment: likes, dislikes and position of its
--   row.
-- Answer: one a slot: nil when it is lost; else two a comment: likes and dislikes, or -1 without a
--   view.

-- Counts the comments of one slot, whose keys are those after `keys`; those of ARGV begin at `from`.
local function count_all(keys, from, comments)
  local reached = opened(KEYS[keys + 1])
  if not reached then return false end
  local answer = {}
  for i = 1, comments do
    local at = from + 3 * (i - 1)
    local l, d, position = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local view = load(KEYS[keys + 2], KEYS[keys + 1 + 2 * i], KEYS[keys + 2 + 2 * i], reached)
    local likes, dislikes = -1, -1
    if view then
      if position > view.b then
        rebase(view, position, l, d)
        save(view)
      end
      likes, dislikes = shown(view)
    end
    answer[2 * i - 1], answer[2 * i] = likes, dislikes
  end
  return answer
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments = tonumber(ARGV[at])
  slots[#slots + 1] = count_all(keys, at + 1, comments)
  keys, at = keys + 2 + 2 * comments, at + 1 + 3 * comments
end
return slots
