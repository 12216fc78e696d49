-- Whether every reader saw the text until it was replaced. Of texts from before it is not known, so they are not shown.
ALTER TABLE content_history_{n} ADD COLUMN was_shown TINYINT NOT NULL DEFAULT 0;
