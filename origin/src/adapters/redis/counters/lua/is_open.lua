-- Answers whether a slot is open.
--
-- KEYS: its marker
-- Answer: 1 or 0

return enter_slot(KEYS[1]) and 1 or 0
