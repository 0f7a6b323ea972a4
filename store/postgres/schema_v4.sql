-- Schema 4: a conversation of which messages were set aside is found like what needs a
-- person, whatever became of it since.
--
-- Nodes of releases before walk the indexes of schemas 2 and 3, so these stay. All of
-- them hold little, and ask the text of the record: see schema 2.
CREATE INDEX conversations_for_people ON onereply.conversations (active_ms)
  WHERE position('"phase":"failed"' IN record) > 0 OR position('"troubles":[' IN record) > 0
    OR position('"crashes":' IN record) > 0 OR position('"aside":' IN record) > 0
