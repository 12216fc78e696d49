-- Whether a slot is open.
--
-- KEYS: its marker. Answer: 1 or 0.

return opened(KEYS[1]) and 1 or 0
