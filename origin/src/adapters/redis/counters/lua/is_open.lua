-- Answers which slots are open.
--
-- KEYS: the marker of each
-- Answer: 1 or 0 for each

local open = {}
for i, marker in ipairs(KEYS) do open[i] = enter_slot(marker) and 1 or 0 end
return open
