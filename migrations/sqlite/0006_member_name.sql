-- The names that members were seen with lately, by the digest of their skeleton: guests cannot take them.
CREATE TABLE member_name (
    digest    BLOB    NOT NULL,
    member_id INTEGER NOT NULL,
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (digest, member_id)
) WITHOUT ROWID;
CREATE INDEX member_name_age ON member_name (seen_at);
