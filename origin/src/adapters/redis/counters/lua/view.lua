-- A comment's view.
--
-- KEYS: the slot's marker and index, the view and its order.
-- Answer: nil when the slot is lost; empty without a view; else base position, likes and dislikes
--   there, likes and dislikes shown.

local reached = opened(KEYS[1])
if not reached then return nil end
local view = load(KEYS[2], KEYS[3], KEYS[4], reached)
if not view then return {} end
local likes, dislikes = shown(view)
return { view.b, view.l, view.d, likes, dislikes }
