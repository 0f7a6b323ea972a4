package postgres

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store/storetest"
)

var recordSample = flag.Bool("record", false, "write the sample of this program's schema, for programs to come")

// The files of the sample: the schema that was created, and its rows.
const (
	sampleSchema = "testdata/schema-1.sql"
	sampleRows   = "testdata/schema-1.json"
)

// sample is what a database of some schema holds.
type sample struct {
	Rows     map[string]json.RawMessage `json:"rows"` // by table
	Contents json.RawMessage            `json:"contents"`
}

// Every schema from the first on has a sample, which all later programs must read. The
// sample of schema 1 follows schema.sql until the first release. After that it never
// changes: a change of the schema then is a new version, with a sample of its own.
func TestTheSampleOfSchema1IsRead(t *testing.T) {
	if *recordSample {
		writeSampleFiles(t)
	}
	schema, err := os.ReadFile(sampleSchema)
	if err != nil {
		t.Fatal(err)
	}
	if string(schema) != schemaStatements {
		t.Error("schema.sql is not the schema of the sample: go test ./store/postgres -run Sample -record")
	}
	text, err := os.ReadFile(sampleRows)
	if err != nil {
		t.Fatal(err)
	}
	var kept sample
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	url := testservers.Postgres(t)
	s, err := openSchema(t, url, string(schema))
	if err != nil {
		t.Fatal(err)
	}
	for table, rows := range kept.Rows {
		sql(t, s, `INSERT INTO onereply.`+table+` OVERRIDING SYSTEM VALUE
			SELECT * FROM json_populate_recordset(NULL::onereply.`+table+`, $1::json)`, string(rows))
	}
	storetest.SameContents(t, storetest.ReadContents(t, openAt(t, url)), kept.Contents)
}

// writeSampleFiles keeps what this program stores.
func writeSampleFiles(t *testing.T) {
	t.Helper()
	s := openNew(t)
	storetest.WriteSample(t, s)
	kept := sample{Rows: map[string]json.RawMessage{}}
	for _, table := range usedTables {
		kept.Rows[table] = json.RawMessage(read[string](t, s, `SELECT coalesce(json_agg(t), '[]')::text FROM onereply.`+table+` AS t`))
	}
	contents, err := json.Marshal(storetest.ReadContents(t, s))
	if err != nil {
		t.Fatal(err)
	}
	kept.Contents = contents
	text, err := json.MarshalIndent(kept, "", " ")
	err = errors.Join(err, os.MkdirAll("testdata", 0o755), os.WriteFile(sampleRows, append(text, '\n'), 0o644),
		os.WriteFile(sampleSchema, []byte(schemaStatements), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
