-- Deletes the view of a comment. If it has pending operations, the slot becomes lost as well: readers have
-- seen them already.
--
-- KEYS: the slot's marker and index, the view and its order

if tonumber(redis.call('HGET', KEYS[3], 'n') or 0) > 0 then redis.call('DEL', KEYS[1]) end
redis.call('UNLINK', KEYS[3], KEYS[4])
redis.call('ZREM', KEYS[2], string.match(KEYS[3], '%d+$'))
