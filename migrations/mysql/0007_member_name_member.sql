-- The names of a member who is erased.
ALTER TABLE member_name ADD KEY member_name_member (member_id);
