-- Removes a conversation.
--
-- In:  the shard; name.
-- Out: nothing.
--
-- Race: a write that expects the record that was here conflicts, since the
-- record, its timer and its claims all go at once.

remove(ARGV[1])
