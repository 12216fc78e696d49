-- Every move of a slot has a number, larger than that of any move before. A state carries the number of the move
-- that made it, and a step of a move changes only a state that it has seen: one of a move that was given up
-- changes nothing.
ALTER TABLE slot ADD COLUMN move BIGINT NOT NULL DEFAULT 0;
ALTER TABLE slot_map ADD COLUMN move BIGINT NOT NULL DEFAULT 0;

-- The last number that was taken. Only the first database's row is used.
CREATE TABLE IF NOT EXISTS move_number (
    id   TINYINT NOT NULL PRIMARY KEY,
    last BIGINT  NOT NULL
) ENGINE = InnoDB;
INSERT IGNORE INTO move_number (id, last) VALUES (0, 0);
