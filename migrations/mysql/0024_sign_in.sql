-- How a member is reached, in the member's slot. `notify` is 0 never, 1 daily, 2 each, and NULL without a choice;
-- `language` is a language tag.
CREATE TABLE IF NOT EXISTS member_contact_{n} (
    id       BIGINT   NOT NULL PRIMARY KEY,
    slot     SMALLINT NOT NULL,
    email    VARCHAR(254) CHARACTER SET ascii COLLATE ascii_bin,
    notify   TINYINT,
    language VARCHAR(35)  CHARACTER SET ascii COLLATE ascii_bin,
    KEY member_contact_slot (slot, id)
) ENGINE = InnoDB;

-- Accounts of this installation, in the member's slot. `role` is 0 member, 1 moderator, 2 admin; `name` is empty until
-- one is chosen.
CREATE TABLE IF NOT EXISTS account_{n} (
    id         BIGINT   NOT NULL PRIMARY KEY,
    slot       SMALLINT NOT NULL,
    name       TEXT     CHARACTER SET utf8mb4 NOT NULL,
    avatar     TEXT     CHARACTER SET utf8mb4,
    role       TINYINT  NOT NULL,
    created_at BIGINT   NOT NULL,
    KEY account_slot (slot, id),
    KEY account_role (role, id)
) ENGINE = InnoDB;

-- What an account is found by when its owner signs in: a digest of a provider and what the provider calls the person.
-- It is in the slot of the digest.
CREATE TABLE IF NOT EXISTS identity_{n} (
    digest     BINARY(32) NOT NULL PRIMARY KEY,
    slot       SMALLINT   NOT NULL,
    account_id BIGINT     NOT NULL,
    created_at BIGINT     NOT NULL,
    KEY identity_slot (slot, digest),
    KEY identity_account (account_id)
) ENGINE = InnoDB;

-- Browsers and apps that are signed in, in the slot of the account: each has one refresh token at a time. `digest` is
-- that of the newest.
CREATE TABLE IF NOT EXISTS refresh_family_{n} (
    account_id BIGINT     NOT NULL,
    id         BIGINT     NOT NULL,
    slot       SMALLINT   NOT NULL,
    digest     BINARY(32) NOT NULL,
    created_at BIGINT     NOT NULL,
    used_at    BIGINT     NOT NULL,
    PRIMARY KEY (account_id, id),
    KEY refresh_family_slot (slot, account_id, id),
    KEY refresh_family_age (used_at)
) ENGINE = InnoDB;

-- Addresses that sign in once, by the digest of what is secret in them and in its slot. `record` is JSON.
CREATE TABLE IF NOT EXISTS sign_in_link_{n} (
    digest     BINARY(32) NOT NULL PRIMARY KEY,
    slot       SMALLINT   NOT NULL,
    record     TEXT       CHARACTER SET utf8mb4 NOT NULL,
    created_at BIGINT     NOT NULL,
    KEY sign_in_link_slot (slot, digest),
    KEY sign_in_link_age (created_at)
) ENGINE = InnoDB;
