-- Schema 3: a turn that has lost a worker is found like what needs a person.
--
-- Nodes of the release before walk the index of schema 2, so that one stays until
-- the next step. Both hold little, and ask the text of the record: see there.
CREATE INDEX conversations_to_look_at ON onereply.conversations (active_ms)
  WHERE position('"phase":"failed"' IN record) > 0 OR position('"troubles":[' IN record) > 0
    OR position('"crashes":' IN record) > 0
