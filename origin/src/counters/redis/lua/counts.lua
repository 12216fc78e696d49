-- Counts of comments, where the view knows more than the row.
--
-- KEYS: the slot's marker and index, then of each comment its view and its order.
-- ARGV: three a comment: likes, dislikes and position of its row.
-- Answer: nil when the slot is lost; else two a comment: likes and dislikes, or -1 without a view.

local reached = opened(KEYS[1])
if not reached then return nil end

local answer = {}
for i = 1, #ARGV / 3 do
  local l, d, position = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local view = load(KEYS[2], KEYS[1 + 2 * i], KEYS[2 + 2 * i], reached)
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
