-- What was done, counted in the transaction that writes its rows. `step` is 0 for minutes, 1 for hours, 2 for days;
-- `at` is the begin of one, in Unix milliseconds.
CREATE TABLE activity (
    step      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    posts     INTEGER NOT NULL,
    held      INTEGER NOT NULL,
    rejected  INTEGER NOT NULL,
    reports   INTEGER NOT NULL,
    reactions INTEGER NOT NULL,
    PRIMARY KEY (step, at)
) WITHOUT ROWID;
