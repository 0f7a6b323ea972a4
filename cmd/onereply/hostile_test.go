package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
)

// hostile has one of each kind of character that a terminal obeys: an escape sequence, a
// C1 control that begins one too, a delete, and marks that turn the direction of a line.
const hostile = "\x1b[2J\u009b31m\x7f\u202egnp.exe\u2066"

// TestNothingControlsTheTerminal: whatever a server sends, and wherever a command prints
// it, the terminal gets it as text, and JSON stays the same JSON.
func TestNothingControlsTheTerminal(t *testing.T) {
	quoted, err := json.Marshal(hostile + "\u0085")
	if err != nil {
		t.Fatal(err)
	}
	text := string(quoted)
	event := `{"id":` + text + `,"type":` + text + `,"bot":"b","conversation":"c","reason":` + text + `,"text":` + text + `}`
	state := `{"bot":` + text + `,"conversation":` + text + `,"phase":` + text + `,"last_error":` + text + `,"pause_reason":` + text + `}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case r.Header.Get("Last-Event-ID") != "":
			http.Error(w, "", http.StatusGone)
		case strings.HasSuffix(path, "/events"):
			fmt.Fprintf(w, "id: 1\ndata: %s\n\n", event)
		case strings.HasSuffix(path, "/transcript"):
			fmt.Fprintf(w, `{"entries":[{"kind":"message","id":%s,"status":%s,"text":%s},{"kind":"reply","status":%[1]s,"author":%[1]s}]}`, text, text, text)
		case strings.HasSuffix(path, "/timeline"):
			fmt.Fprintf(w, `{"turns":[{"turn":1,"steps":[%s]}]}`, event)
		case strings.HasSuffix(path, "/messages"):
			fmt.Fprintf(w, `{"message_id":%s,"outcome":%[1]s,"reason":%[1]s}`, text)
		case strings.HasSuffix(path, "/flush"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"title":%s,"field":%[1]s,"detail":"first\nonereply: second %s}`, text, text[1:])
		case strings.HasSuffix(path, "/conversations"):
			fmt.Fprintf(w, `{"conversations":[%s]}`, state)
		default:
			fmt.Fprint(w, state)
		}
	}))
	defer server.Close()
	env := map[string]string{"ONEREPLY_SERVER": server.URL}
	for _, command := range []string{"tail", "show b c", "show b c --timeline", "send b c x", "flush b c", "list", "pause b c"} {
		for _, form := range []string{"", " --json"} {
			got := do(t, env, "", strings.Fields(command+form)...)
			for _, c := range got.stdout + got.stderr {
				if c != '\n' && !unicode.IsPrint(c) {
					t.Errorf("%s%s: %U reaches the terminal", command, form, c)
					break
				}
			}
			if form == "" && strings.Contains(got.stdout+got.stderr, "\nonereply: second") {
				t.Errorf("%s: the server's text looks like one of ours: %s", command, got.stderr)
			}
			if form != "" && got.stdout != "" {
				var anything any
				if err := json.Unmarshal([]byte(got.stdout), &anything); err != nil {
					t.Errorf("%s%s: %v", command, form, err)
				} else if again := fmt.Sprint(anything); !strings.Contains(again, hostile) {
					t.Errorf("%s%s: the JSON says something else now: %q", command, form, again)
				}
			}
		}
	}
}

// TestPasswordsNeedNoFlag: other users of the machine can list the flags of a process, so
// each URL of a store may come from the environment.
func TestPasswordsNeedNoFlag(t *testing.T) {
	url, target := seeded(t, right), "sqlite:"+t.TempDir()+"/copy.db"
	do(t, map[string]string{"ONEREPLY_STORE": url}, "", "doctor").expect(t, success, "nothing is wrong", "")
	do(t, map[string]string{"ONEREPLY_FROM": url, "ONEREPLY_TO": target}, "", "copy").expect(t, success, "Verified", "")
	do(t, map[string]string{"ONEREPLY_STORE": "sqlite:missing.db"}, "", "doctor", "--store", url).expect(t, success, "nothing is wrong", "")
	do(t, nil, "", "doctor").expect(t, misuse, "", "ONEREPLY_STORE")
	do(t, nil, "", "copy", "--to", target).expect(t, misuse, "", "ONEREPLY_FROM")
}
