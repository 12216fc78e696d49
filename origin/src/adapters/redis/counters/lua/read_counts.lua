-- Reads the counts of comments of which the view knows more than the row.
--
-- KEYS: for each slot its marker and index, then for each of its comments the view and its order
-- ARGV: for each slot the number of comments; for each of them likes, dislikes and offset of its row
-- Answer: one for each slot: nil if it is lost; else two for each comment: likes and dislikes, or -1
--   without a view

-- Reads the comments of one slot. Its keys come after `keys`, its arguments begin at `from`.
local function read_slot(keys, from, comments)
  local reached = enter_slot(KEYS[keys + 1])
  if not reached then return false end
  local answer = {}
  for i = 1, comments do
    local at = from + 3 * (i - 1)
    local row_likes, row_dislikes, position = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local view = load_view(KEYS[keys + 2], KEYS[keys + 1 + 2 * i], KEYS[keys + 2 + 2 * i], reached)
    local likes, dislikes = -1, -1
    if view then
      if position > view.base then
        rebase(view, position, row_likes, row_dislikes)
        save_view(view)
      end
      likes, dislikes = current_counts(view)
    end
    answer[2 * i - 1], answer[2 * i] = likes, dislikes
  end
  return answer
end

local keys, at, slots = 0, 1, {}
while at <= #ARGV do
  local comments = tonumber(ARGV[at])
  slots[#slots + 1] = read_slot(keys, at + 1, comments)
  keys, at = keys + 2 + 2 * comments, at + 1 + 3 * comments
end
return slots
