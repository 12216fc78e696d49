-- The slot leads the keys of what a move copies, so that a move reads what its slot holds, and not the whole table.
-- It is in the bits 12 to 21 of the id of a comment. A default computes it, so every writer stores the right one.
ALTER TABLE reaction_{n} ADD COLUMN slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023) FIRST,
    DROP PRIMARY KEY, ADD PRIMARY KEY (slot, comment_id, member_id);
ALTER TABLE reply_rank_{n} ADD COLUMN slot SMALLINT NOT NULL DEFAULT ((root_id >> 12) & 1023) FIRST,
    DROP PRIMARY KEY, ADD PRIMARY KEY (slot, root_id, hot, id);
ALTER TABLE alias_{n} ADD COLUMN slot SMALLINT NOT NULL DEFAULT ((id >> 12) & 1023) FIRST,
    DROP PRIMARY KEY, ADD PRIMARY KEY (slot, id);
-- The mentions of a member are read in all slots: the key for a move is a second one.
ALTER TABLE mention_{n} ADD COLUMN slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    DROP KEY mention_comment, ADD KEY mention_slot (slot, comment_id);
