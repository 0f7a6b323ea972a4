-- Schema 2: what a person should look at is found without reading all records.
--
-- There is no column for it: nodes of the release before this one do not know of
-- it, and would leave it as it was. The index asks the text of the record, which
-- every node writes. A name of a field that is followed by a colon can't be part of
-- a value, since quotes within one are escaped, and no other field has these names.
--
-- While it is made, commits wait: a second or two for a million conversations.
CREATE INDEX conversations_by_attention ON onereply.conversations (active_ms)
  WHERE position('"phase":"failed"' IN record) > 0 OR position('"troubles":[' IN record) > 0
