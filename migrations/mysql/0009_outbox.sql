-- What the transactions of this database owe the rows of members, in the databases of the members' slots: a
-- comment in its author's history, and the author's name. Rows are written with the comment, delivered in
-- any order, and deleted when they are delivered. Without a name, only the history is owed.
CREATE TABLE IF NOT EXISTS outbox (
    seq         BIGINT   NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at          BIGINT   NOT NULL,
    member_slot SMALLINT NOT NULL,
    member_id   BIGINT   NOT NULL,
    comment_id  BIGINT   NOT NULL,
    held        TINYINT  NOT NULL,
    name        VARCHAR(255) CHARACTER SET utf8mb4,
    avatar      TEXT     CHARACTER SET utf8mb4,
    level       SMALLINT NOT NULL DEFAULT 0,
    KEY outbox_member (member_slot, member_id, comment_id)
) ENGINE = InnoDB;

-- The newest comment with this name: the name of an older one that is delivered later does not replace it.
ALTER TABLE member_{n} ADD COLUMN named_by BIGINT NOT NULL DEFAULT 0;
