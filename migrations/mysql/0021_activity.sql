-- What was done in this database, counted in the transaction that writes its rows. `step` is 0 for minutes, 1 for
-- hours, 2 for days; `at` is the begin of one, in Unix milliseconds. A number is the sum over `part`, which keeps
-- transactions apart that commit at once. The rows stay where they are when a slot moves: the whole is the sum over
-- all databases, and what a slot does later is counted where it is then.
CREATE TABLE IF NOT EXISTS activity (
    step      TINYINT NOT NULL,
    at        BIGINT  NOT NULL,
    part      TINYINT NOT NULL,
    posts     BIGINT  NOT NULL,
    held      BIGINT  NOT NULL,
    rejected  BIGINT  NOT NULL,
    reports   BIGINT  NOT NULL,
    reactions BIGINT  NOT NULL,
    PRIMARY KEY (step, at, part)
) ENGINE = InnoDB;
