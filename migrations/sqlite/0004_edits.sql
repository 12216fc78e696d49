-- How often a comment was edited.
ALTER TABLE comment ADD COLUMN edits INTEGER NOT NULL DEFAULT 0;

-- The earlier texts of edited comments. `edit` is the number of the edit that replaced the text, and 0 for
-- edits before they had numbers; `edited_at` is its time.
CREATE TABLE content_history_numbered (
    comment_id INTEGER NOT NULL,
    edit       INTEGER NOT NULL,
    edited_at  INTEGER NOT NULL,
    content    TEXT    NOT NULL,
    PRIMARY KEY (comment_id, edit, edited_at)
) WITHOUT ROWID;
INSERT INTO content_history_numbered (comment_id, edit, edited_at, content)
    SELECT comment_id, 0, edited_at, content FROM content_history;
DROP TABLE content_history;
ALTER TABLE content_history_numbered RENAME TO content_history;
CREATE INDEX content_history_age ON content_history (edited_at);
