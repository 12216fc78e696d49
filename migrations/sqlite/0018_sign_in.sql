-- How a member is reached. `notify` is 0 never, 1 daily, 2 each, and NULL without a choice; `language` is a language tag.
CREATE TABLE member_contact (
    id       INTEGER PRIMARY KEY,
    email    TEXT,
    notify   INTEGER,
    language TEXT
);

-- Accounts of this installation. `role` is 0 member, 1 moderator, 2 admin; `name` is empty until one is chosen.
CREATE TABLE account (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    avatar     TEXT,
    role       INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX account_staff ON account (role) WHERE role > 0;

-- What an account is found by when its owner signs in: a digest of a provider and what the provider calls the person.
CREATE TABLE identity (
    digest     BLOB    PRIMARY KEY,
    account_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX identity_account ON identity (account_id);

-- Browsers and apps that are signed in: each has one refresh token at a time. `digest` is that of the newest.
CREATE TABLE refresh_family (
    account_id INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    digest     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    PRIMARY KEY (account_id, id)
) WITHOUT ROWID;
CREATE INDEX refresh_family_age ON refresh_family (used_at);

-- Addresses that sign in once: by the digest of what is secret in them. `record` is JSON.
CREATE TABLE sign_in_link (
    digest     BLOB    PRIMARY KEY,
    record     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_in_link_age ON sign_in_link (created_at);
