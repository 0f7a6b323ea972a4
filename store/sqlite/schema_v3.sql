-- Schema 3. The file ...-redo holds writes that were acknowledged and are not in these
-- tables yet; what is of another generation is, or never counted.

CREATE TABLE redo (generation INTEGER NOT NULL) STRICT;

-- Any number that no other file has.
INSERT INTO redo (generation) VALUES (abs(random() / 2))
