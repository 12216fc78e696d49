-- Passkeys of accounts. `credential` is how authenticators call one; `record` is JSON: its public key, its counter of
-- signatures, whether it is backed up. `used_at` is NULL until it signs in.
CREATE TABLE passkey (
    account_id INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    credential BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    record     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER,
    PRIMARY KEY (account_id, id)
) WITHOUT ROWID;
