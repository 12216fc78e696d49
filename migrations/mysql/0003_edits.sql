-- How often a comment was edited.
ALTER TABLE comment_{n} ADD COLUMN edits INT NOT NULL DEFAULT 0;

-- `edit` is the number of the edit that replaced the text, and 0 for edits before they had numbers;
-- `edited_at` is its time.
ALTER TABLE content_history_{n} ADD COLUMN edit INT NOT NULL DEFAULT 0, DROP PRIMARY KEY,
    ADD PRIMARY KEY (comment_id, edit, edited_at), ADD KEY content_history_age (edited_at);
