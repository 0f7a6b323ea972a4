package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel/webhook"
	"github.com/onereply/onereply/internal/proof/memoryhttp"
	"github.com/onereply/onereply/internal/proof/respondertest"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	older  = "whsec_YW4gb2xkZXIgc2VjcmV0LCBvZiAyNSBieXRlcw=="
)

func delivery() *onereply.Delivery {
	return &onereply.Delivery{
		ID: "c1/1", SendID: "c1/1", Bot: "support", Conversation: "c1", Turn: 1, Part: -1,
		Parts: []string{"Hello.", "How are you?"}, Text: "Hello. How are you?",
		Covers: []string{"m1", "m2"}, Version: 2,
		CommittedAt: time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, time.FixedZone("", 3600)), Try: 1,
	}
}

func sender(t testing.TB, c webhook.Config) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is what a receiver got.
type request struct {
	id, body string
}

// receiver keeps what it gets, and checks every signature.
func receiver(t testing.TB) (url string, got *[]request) {
	got = new([]request)
	return respondertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := webhook.Verify(secret, r.Header, body, 0); err != nil {
			t.Error(err)
		}
		*got = append(*got, request{r.Header.Get("webhook-id"), string(body)})
	}), got
}

func TestSend(t *testing.T) {
	const head = `{"type":"reply","timestamp":"2026-01-02T02:04:05.006Z","data":{"id":"c1/1","bot":"support","conversation":"c1","address":"c1","turn":1,`
	tests := map[string]struct {
		change func(*onereply.Delivery)
		id     string
		body   string
	}{
		"whole": {
			func(*onereply.Delivery) {}, "c1/1",
			head + `"text":"Hello. How are you?","parts":["Hello.","How are you?"],"covers":["m1","m2"],"version":2,"late_input":false}}`,
		},
		"one part": {
			func(d *onereply.Delivery) { d.Part, d.Text = 1, "How are you?" }, "c1/1/2",
			head + `"text":"How are you?","parts":["How are you?"],"covers":["m1","m2"],"version":2,"late_input":false,"part":2,"of":2}}`,
		},
		"by a human, with nothing": {
			func(d *onereply.Delivery) { d.Parts, d.Covers, d.Human, d.LateInput = nil, nil, true, true }, "c1/1",
			head + `"text":"Hello. How are you?","parts":["Hello. How are you?"],"covers":[],"version":2,"late_input":true,"human":true}}`,
		},
		"sent again after it has failed": {
			func(d *onereply.Delivery) { d.SendID = "c1/1~17" }, "c1/1~17",
			head + `"text":"Hello. How are you?","parts":["Hello.","How are you?"],"covers":["m1","m2"],"version":2,"late_input":false}}`,
		},
		"a dot in the conversation's key": {
			func(d *onereply.Delivery) { d.ID, d.SendID = "a.b%/1", "a.b%/1" }, "a%2Eb%25/1",
			strings.Replace(head, "c1/1", `a.b%/1`, 1) + `"text":"Hello. How are you?","parts":["Hello.","How are you?"],"covers":["m1","m2"],"version":2,"late_input":false}}`,
		},
		"an id that no header carries": {
			func(d *onereply.Delivery) { d.ID, d.SendID = "ü\n/1", "ü\n/1" }, "%C3%BC%0A/1",
			strings.Replace(head, "c1/1", `ü\n/1`, 1) + `"text":"Hello. How are you?","parts":["Hello.","How are you?"],"covers":["m1","m2"],"version":2,"late_input":false}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			url, got := receiver(t)
			d := delivery()
			test.change(d)
			s := sender(t, webhook.Config{URL: url, Secret: older + " " + secret})
			for d.Try = range 2 {
				if err := s.Send(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			// The second try is the same to the byte.
			if want := (request{test.id, test.body}); !reflect.DeepEqual(*got, []request{want, want}) {
				t.Errorf("got\n%v\nwant twice\n%v", *got, want)
			}
		})
	}
}

// A conversation's name can look like an id, a time and a body. The signature of a reply to
// it fits no request that begins with that id: the signed text has dots between its parts,
// and the id has none of its own.
func TestANameForgesNoRequest(t *testing.T) {
	var header http.Header
	var body []byte
	url := respondertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
	})
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	rest := `{"type":"reply","data":{"text":"forged"}}/1`
	d := delivery()
	d.ID = "x." + stamp + "." + rest
	d.SendID = d.ID
	if err := sender(t, webhook.Config{URL: url, Secret: secret}).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := webhook.Verify(secret, header, body, 0); err != nil {
		t.Fatalf("the request as it was sent: %v", err)
	}
	if id := header.Get("webhook-id"); strings.Contains(id, ".") {
		t.Errorf("the id %q has a dot", id)
	}
	forged := []byte(rest + "." + header.Get("webhook-timestamp") + "." + string(body))
	header.Set("webhook-id", "x")
	header.Set("webhook-timestamp", stamp)
	if webhook.Verify(secret, header, forged, 0) == nil {
		t.Error("the signature fits a forged body")
	}
}

func TestSendWithoutSecret(t *testing.T) {
	url := respondertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-signature") != "" || r.Header.Get("webhook-id") != "c1/1" || r.Header.Get("webhook-timestamp") == "" || r.Header.Get("X-Key") != "k" {
			t.Errorf("got %v", r.Header)
		}
	})
	if err := sender(t, webhook.Config{URL: url, Headers: map[string]string{"x-key": "k"}}).Send(t.Context(), delivery()); err != nil {
		t.Error(err)
	}
}

// outcome is what is known of a send.
type outcome struct {
	certain, forGood bool
	after            time.Duration
}

func outcomeOf(err error) outcome {
	if known, ok := errors.AsType[*onereply.SendError](err); ok {
		return outcome{known.NotDelivered, known.Permanent, known.RetryAfter}
	}
	return outcome{}
}

func TestOutcomesByStatus(t *testing.T) {
	again, forGood := outcome{certain: true, after: 7 * time.Second}, outcome{certain: true, forGood: true}
	want := map[outcome][]int{
		again:   {404, 405, 408, 429, 500, 501, 502, 503, 504, 520, 529, 599},
		forGood: {400, 401, 403, 409, 410, 413, 422, 425, 300, 301, 302, 303, 304, 307, 308},
	}
	for want, statuses := range want {
		for _, status := range statuses {
			url := respondertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				if status != http.StatusNotModified {
					_, _ = io.WriteString(w, "because\nof this")
				}
			})
			err := sender(t, webhook.Config{URL: url}).Send(t.Context(), delivery())
			if got := outcomeOf(err); got != want {
				t.Errorf("%d: got %+v, %v", status, got, err)
			}
			if !strings.Contains(err.Error(), fmt.Sprint(status)) || status != 304 && !strings.Contains(err.Error(), "because of this") {
				t.Errorf("%d: got %v", status, err)
			}
			if status/100 == 3 && !strings.Contains(err.Error(), "redirects are not followed") {
				t.Errorf("%d: got %v", status, err)
			}
		}
	}
	for _, status := range []int{200, 201, 202, 204, 299} {
		url := respondertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if err := sender(t, webhook.Config{URL: url}).Send(t.Context(), delivery()); err != nil {
			t.Errorf("%d: got %v", status, err)
		}
	}
}

func TestOutcomesWithoutAnAnswer(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	plain := respondertest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	certain, unknown := outcome{certain: true}, outcome{}
	tests := map[string]struct {
		url  string
		want outcome
	}{
		"refused":                {closed.URL, certain},
		"no such name":           {"http://nobody.invalid", certain},
		"no TLS there":           {strings.Replace(plain, "http:", "https:", 1), certain},
		"lost after it was sent": {respondertest.Serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := sender(t, webhook.Config{URL: test.url}).Send(t.Context(), delivery())
			if got := outcomeOf(err); err == nil || got != test.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// A time-out after the request was sent leaves the outcome unknown; one before
// it had a connection does not.
func TestTimeouts(t *testing.T) {
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	tests := map[string]struct {
		client func(*testing.T) *http.Client
		want   outcome
	}{
		"after it was sent": {func(t *testing.T) *http.Client { return memoryhttp.Serve(t, hangs) }, outcome{}},
		"while connecting":  {nowhere, outcome{certain: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				start := time.Now()
				err := sender(t, webhook.Config{URL: memoryhttp.URL, HTTPClient: test.client(t)}).Send(ctx, delivery())
				if got := outcomeOf(err); got != test.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %+v, %v", got, err)
				}
				if took := time.Since(start); took != 15*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A receiver whose answer has no end has received.
func TestAnAnswerWithoutEndIsADelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "thanks")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		start := time.Now()
		if err := sender(t, webhook.Config{URL: memoryhttp.URL, HTTPClient: client}).Send(t.Context(), delivery()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTraits(t *testing.T) {
	whole := sender(t, webhook.Config{URL: "http://x"}).Capabilities()
	if !whole.RecognisesRepeats || !whole.AllParts || whole.Split != nil {
		t.Errorf("got %+v", whole)
	}
	parts := sender(t, webhook.Config{URL: "http://x", Separate: true, Limit: 5}).Capabilities()
	if !parts.RecognisesRepeats || parts.AllParts {
		t.Errorf("got %+v", parts)
	}
	if got := parts.Split("one two three"); !reflect.DeepEqual(got, []string{"one", "two", "three"}) {
		t.Errorf("got %q", got)
	}
}

func TestValidateReportsAllMistakes(t *testing.T) {
	for _, limit := range []int{-1, onereply.MaxReplyBytes + 1} {
		err := webhook.Config{URL: "here", Secret: "hunter2!", Limit: limit, Headers: map[string]string{"a b": ""}}.Validate()
		for _, want := range []string{"URL", "Secret", "Limit", "a b"} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s is not named in %v", want, err)
			}
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	if err := webhook.Verify(secret, http.Header{}, nil, 0); err == nil {
		t.Error("an unsigned request was accepted")
	}
	if err := webhook.Verify("?", http.Header{}, nil, 0); err == nil {
		t.Error("a bad secret was accepted")
	}
}

// nowhere is a client whose connections never come about.
func nowhere(t *testing.T) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-t.Context().Done() // the transport goes on dialing without the request
		return nil, net.ErrClosed
	}}}
}

// A receiver checks the signature and drops what it has seen before.
func Example() {
	seen := map[string]bool{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || webhook.Verify(secret, r.Header, body, 0) != nil {
			http.Error(w, "not from us", http.StatusUnauthorized)
			return
		}
		if seen[r.Header.Get("webhook-id")] {
			return
		}
		seen[r.Header.Get("webhook-id")] = true
		var reply struct {
			Data struct{ Text string } `json:"data"`
		}
		if err := json.Unmarshal(body, &reply); err == nil {
			fmt.Println(reply.Data.Text)
		}
	}))
	defer receiver.Close()

	sender, err := webhook.New(webhook.Config{URL: receiver.URL, Secret: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		if err := sender.Send(context.Background(), delivery()); err != nil {
			fmt.Println(err)
		}
	}
	// Output: Hello. How are you?
}

// A receiver that asks for a pause may say that it holds for the whole bot.
func TestPausesOfTheReceiver(t *testing.T) {
	for scope, whole := range map[string]bool{"": false, "bot": true, " BOT ": true, "conversation": false} {
		url := respondertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Retry-After-Scope", scope)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		err := sender(t, webhook.Config{URL: url}).Send(t.Context(), delivery())
		got, ok := errors.AsType[*onereply.SendError](err)
		if !ok || !got.NotDelivered || got.RetryAfter != 7*time.Second || got.WholeBot != whole {
			t.Errorf("scope %q: %#v", scope, err)
		}
	}
}

// A signal is signed like a reply, says what it is, and has an id of its own.
func TestSignal(t *testing.T) {
	url, got := receiver(t)
	s := sender(t, webhook.Config{URL: url, Secret: secret})
	if err := s.Signal(t.Context(), onereply.Signal{Kind: onereply.SignalTyping, Bot: "support", Conversation: "c1", Turn: 3}); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Type string
		Data map[string]any
	}
	if err := json.Unmarshal([]byte((*got)[0].body), &body); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"bot": "support", "conversation": "c1", "address": "c1", "turn": 3.0}
	if body.Type != "typing" || !reflect.DeepEqual(body.Data, want) || !strings.HasPrefix((*got)[0].id, "c1/3/typing/") {
		t.Errorf("got %v", *got)
	}
	refuses := respondertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if err := sender(t, webhook.Config{URL: refuses}).Signal(t.Context(), onereply.Signal{}); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("a refusal gives %v", err)
	}
}
