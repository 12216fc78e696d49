-- The names of a member who is erased.
CREATE INDEX member_name_member ON member_name (member_id);
