package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnAgentSealsWithoutAKey: what a responder of a real node is given opens its attempt, and
// nothing else of that node.
func TestAnAgentSealsWithoutAKey(t *testing.T) {
	const key = "the-key-that-nobody-gives-away"
	statuses := make(chan [2]int, 1)
	status := func(method, url string) int {
		request, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		response, err := patient.Do(request)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			SealURL string `json:"seal_url"`
		}
		if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
			t.Error(err)
		}
		sealed := status("POST", turn.SealURL)
		statuses <- [2]int{sealed, status("GET", strings.Replace(turn.SealURL, "/turns/", "/transcript?", 1))}
		_, _ = io.WriteString(w, `{"text":"done"}`)
	}))
	defer agent.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "onereply.yaml")
	text := "listen: 127.0.0.1:0\nstore: sqlite:" + filepath.Join(folder, "db") + "\napi_keys: [" + key + "]\n" +
		"bots: {support: {debounce: 0s, responder: {kind: webhook, url: \"" + agent.URL + "\"}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := spawn(t, "serve", "--config", file)
	request, err := http.NewRequest("POST", p.url+"/v1/bots/support/conversations/c/messages", strings.NewReader(`{"text":"book it"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := patient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	select {
	case got := <-statuses:
		if got != [2]int{http.StatusOK, http.StatusUnauthorized} {
			t.Errorf("the seal is answered %d, another call with its grant %d", got[0], got[1])
		}
	case <-time.After(waitLimit):
		t.Error("the agent was not asked")
	}
	p.signal(t)
	p.ends(t, success)
}
