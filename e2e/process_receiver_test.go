package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// arrival is one request that the receiver got, repeats included.
type arrival struct {
	id           string // webhook-id: the same for every try to deliver the same thing
	body         string
	verified     error
	refused      bool // it was answered with a 500, so nobody saw it
	reply        string
	bot          string
	conversation string
	turn         int64
	text         string
	covers       []string
	late         bool
	part, of     int // from 1; 1 of 1 where the reply comes as a whole
}

// habit is what the receiver does with a request.
type habit int

const (
	takes habit = iota
	takesSlowly
	takesAndHangsUp
	refuses
)

// receiver takes replies, and outlives the node. It notes every request, and
// what it does with each.
type receiver struct {
	server *httptest.Server
	notice func(moment)
	habit  func() (habit, time.Duration) // and how long it holds the request
	calm   atomic.Bool                   // takes everything at once, from now on

	mu       sync.Mutex
	arrivals []arrival
}

func newReceiver(t testing.TB, habit func() (habit, time.Duration), notice func(moment)) *receiver {
	r := &receiver{notice: notice, habit: habit}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
	})
	return r
}

// takesAll is the habit of a receiver without faults.
func takesAll() (habit, time.Duration) { return takes, 0 }

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // it never arrived
	}
	a := newArrival(request.Header, body)
	does, hold := r.next()
	a.refused = does == refuses
	r.mu.Lock()
	r.arrivals = append(r.arrivals, a)
	r.mu.Unlock()
	r.notice(receiving)
	select {
	case <-time.After(hold):
	case <-request.Context().Done():
	}
	switch does {
	case refuses:
		http.Error(w, "not now", http.StatusInternalServerError)
	case takesAndHangsUp:
		panic(http.ErrAbortHandler)
	default:
		r.accept(w, a)
	}
}

func (r *receiver) next() (habit, time.Duration) {
	if r.calm.Load() {
		return takesAll()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.habit()
}

// accept answers so that the other side knows at once.
func (r *receiver) accept(w http.ResponseWriter, a arrival) {
	w.WriteHeader(http.StatusNoContent)
	_ = http.NewResponseController(w).Flush() // whoever asked may be gone
	if a.part < a.of {
		r.notice(between)
	} else {
		r.notice(delivered)
	}
}

func newArrival(header http.Header, body []byte) arrival {
	var payload struct {
		Data struct {
			ID, Bot, Conversation, Text string
			Turn                        int64
			Covers                      []string
			LateInput                   bool `json:"late_input"`
			Part, Of                    int
		}
	}
	a := arrival{id: header.Get("webhook-id"), body: string(body)}
	if a.verified = verify(header, body); a.verified == nil {
		a.verified = json.Unmarshal(body, &payload)
	}
	d := payload.Data
	a.reply, a.bot, a.conversation, a.turn = d.ID, d.Bot, d.Conversation, d.Turn
	a.text, a.covers, a.late = d.Text, d.Covers, d.LateInput
	a.part, a.of = max(d.Part, 1), max(d.Of, 1)
	return a
}

// verify checks a signature as the specification of Standard Webhooks has it,
// with none of the code that made it.
func verify(header http.Header, body []byte) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signingSecret, "whsec_"))
	if err != nil {
		return err
	}
	signed := hmac.New(sha256.New, key)
	signed.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "."))
	signed.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(signed.Sum(nil))
	if !slices.Contains(strings.Fields(header.Get("webhook-signature")), want) {
		return errors.New("it is not signed with our secret")
	}
	return nil
}

// of are the arrivals for a conversation.
func (r *receiver) of(bot, conversation string) []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []arrival
	for _, a := range r.arrivals {
		if a.bot == bot && a.conversation == conversation {
			found = append(found, a)
		}
	}
	return found
}

// count is how many requests there were at all.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrivals)
}
