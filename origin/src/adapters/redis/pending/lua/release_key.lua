-- Deletes a reservation of this operation that is not marked as appended.
--
-- KEYS: the reservation
-- ARGV: the operation

if redis.call('GET', KEYS[1]) == '0' .. ARGV[1] then redis.call('DEL', KEYS[1]) end
