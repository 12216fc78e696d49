-- The role of the author when the comment was written: 0 none, 1 moderator, 2 admin.
ALTER TABLE comment ADD COLUMN author_role INTEGER NOT NULL DEFAULT 0;
