-- Passkeys of accounts, in the slot of the account. `credential` is how authenticators call one; `record` is JSON: its
-- public key, its counter of signatures, whether it is backed up. `used_at` is NULL until it signs in.
CREATE TABLE IF NOT EXISTS passkey_{n} (
    account_id BIGINT          NOT NULL,
    id         BIGINT          NOT NULL,
    slot       SMALLINT        NOT NULL,
    credential VARBINARY(1023) NOT NULL,
    name       TEXT            CHARACTER SET utf8mb4 NOT NULL,
    record     TEXT            CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at BIGINT          NOT NULL,
    used_at    BIGINT,
    PRIMARY KEY (account_id, id),
    KEY passkey_slot (slot, account_id, id)
) ENGINE = InnoDB;
