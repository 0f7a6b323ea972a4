-- Schema 4: a conversation of which messages were set aside is found like what needs a
-- person, whatever became of it since.
--
-- Nodes of the release before walk the index of schema 3, so that one stays until the
-- next step; that of schema 2 goes. Both hold little, and ask the text of the record:
-- see there.
DROP INDEX onereply.conversations_by_attention;

CREATE INDEX conversations_for_people ON onereply.conversations (active_ms)
  WHERE position('"phase":"failed"' IN record) > 0 OR position('"troubles":[' IN record) > 0
    OR position('"crashes":' IN record) > 0 OR position('"aside":' IN record) > 0
