-- Texts on subjects of this database that the word filter refused, kept for 30 days. `id` is made as that of a comment,
-- `record` is JSON. Those of a slot that moves stay: they are looked for in every database.
CREATE TABLE IF NOT EXISTS refused_text (
    id        BIGINT     NOT NULL PRIMARY KEY,
    at        BIGINT     NOT NULL,
    author_id BIGINT     NOT NULL,
    record    MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    KEY refused_text_age (at),
    KEY refused_text_author (author_id, at)
) ENGINE = InnoDB;
