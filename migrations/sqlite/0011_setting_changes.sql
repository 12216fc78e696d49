-- What admins have changed of the settings. One row.
CREATE TABLE setting_changes (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    changes TEXT    NOT NULL
);
