-- Reads the view of a comment.
--
-- KEYS: the slot's marker and index, the view and its order
-- Answer: nil if the slot is lost; empty without a view; else the offset of the base, likes and dislikes
--   there, current likes and dislikes

local reached = enter_slot(KEYS[1])
if not reached then return nil end
local view = load_view(KEYS[2], KEYS[3], KEYS[4], reached)
if not view then return {} end
local likes, dislikes = current_counts(view)
return { view.base, view.likes, view.dislikes, likes, dislikes }
