package redis

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store/storetest"
)

var recordSample = flag.Bool("record", false, "write the sample of this program's schema, for programs to come")

const (
	sampleFile   = "testdata/schema-1.json"
	samplePrefix = "sample"
)

// sample is what the keys of some schema hold.
type sample struct {
	Hashes   map[string]map[string]string  `json:"hashes"`
	Sets     map[string]map[string]float64 `json:"sets"` // sorted
	Contents json.RawMessage               `json:"contents"`
}

// Every schema from the first on has a sample, which all later programs must read. The
// sample of schema 1 may be written anew until the first release, and never after.
func TestTheSampleOfSchema1IsRead(t *testing.T) {
	server := testservers.NewRedis(t)
	if *recordSample {
		writeSampleFile(t)
	}
	text, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept sample
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	client := openNew(t, server).client
	put := func(command, key string, arguments ...string) {
		if err := client.Do(t.Context(), client.B().Arbitrary(command).Keys(key).Args(arguments...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for key, fields := range kept.Hashes {
		for field, value := range fields {
			put("HSET", key, field, value)
		}
	}
	for key, members := range kept.Sets {
		for member, score := range members {
			put("ZADD", key, strconv.FormatFloat(score, 'f', -1, 64), member)
		}
	}
	s := openWith(t, server.URL(), Options{Prefix: samplePrefix})
	storetest.SameContents(t, storetest.ReadContents(t, s), kept.Contents)
}

// writeSampleFile keeps what this program stores.
func writeSampleFile(t *testing.T) {
	t.Helper()
	s := openWith(t, testservers.NewRedis(t).URL(), Options{Prefix: samplePrefix, Shards: 2})
	storetest.WriteSample(t, s)
	kept := sample{Hashes: map[string]map[string]string{}, Sets: map[string]map[string]float64{}}
	for _, key := range keysOf(t, s) {
		if fields, err := s.client.Do(t.Context(), s.client.B().Hgetall().Key(key).Build()).AsStrMap(); err == nil {
			kept.Hashes[key] = fields
			continue
		}
		scores, err := s.client.Do(t.Context(), s.client.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsZScores()
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		kept.Sets[key] = map[string]float64{}
		for _, score := range scores {
			kept.Sets[key][score.Member] = score.Score
		}
	}
	contents, err := json.Marshal(storetest.ReadContents(t, s))
	if err != nil {
		t.Fatal(err)
	}
	kept.Contents = contents
	text, err := json.MarshalIndent(kept, "", " ")
	err = errors.Join(err, os.MkdirAll("testdata", 0o755), os.WriteFile(sampleFile, append(text, '\n'), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
