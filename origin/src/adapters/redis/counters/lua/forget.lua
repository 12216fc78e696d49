-- Forgets a comment's view. With pending operations the slot is lost too: they were told to somebody.
--
-- KEYS: the slot's marker and index, the view and its order.

if tonumber(redis.call('HGET', KEYS[3], 'n') or 0) > 0 then redis.call('DEL', KEYS[1]) end
redis.call('UNLINK', KEYS[3], KEYS[4])
redis.call('ZREM', KEYS[2], string.match(KEYS[3], '%d+$'))
