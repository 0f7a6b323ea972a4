package standardwebhooks_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/standardwebhooks"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func parse(t testing.TB, text string) standardwebhooks.Secrets {
	t.Helper()
	secrets, err := standardwebhooks.ParseSecrets(text)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// The signature that the specification's own libraries give for this example.
func TestSignKnownAnswer(t *testing.T) {
	header := http.Header{}
	parse(t, secret).Sign(header, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	want := http.Header{
		"Webhook-Id":        {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
		"Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	if fmt.Sprint(header) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", header, want)
	}
}

func TestSignWithoutSecret(t *testing.T) {
	header := http.Header{}
	parse(t, " ").Sign(header, "a", time.Unix(1, 0), nil)
	if header.Get("webhook-id") != "a" || header.Get("webhook-timestamp") != "1" || header.Get("webhook-signature") != "" {
		t.Errorf("got %v", header)
	}
}

func TestVerify(t *testing.T) {
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret, of 24 bytes"))
	now := time.Unix(1_700_000_000, 0)
	body := []byte(`{"a":1}`)
	signed := func(secrets string, change func(http.Header)) http.Header {
		header := http.Header{}
		parse(t, secrets).Sign(header, "id.1", now, body)
		change(header)
		return header
	}
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	same := func(http.Header) {}
	tests := map[string]struct {
		header http.Header
		body   string
		now    time.Time
		want   error
	}{
		"good":                  {signed(secret, same), `{"a":1}`, now, nil},
		"rotated":               {signed(other+" "+secret, same), `{"a":1}`, now, nil},
		"old, tolerated":        {signed(secret, same), `{"a":1}`, now.Add(5 * time.Minute), nil},
		"early, tolerated":      {signed(secret, same), `{"a":1}`, now.Add(-5 * time.Minute), nil},
		"old":                   {signed(secret, same), `{"a":1}`, now.Add(5*time.Minute + time.Second), standardwebhooks.ErrTimestamp},
		"early":                 {signed(secret, same), `{"a":1}`, now.Add(-5*time.Minute - time.Second), standardwebhooks.ErrTimestamp},
		"absurd time":           {signed(secret, set("webhook-timestamp", "-9223372036854775808")), `{"a":1}`, now, standardwebhooks.ErrTimestamp},
		"other secret":          {signed(other, same), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"other body":            {signed(secret, same), `{"a":2}`, now, standardwebhooks.ErrSignature},
		"other id":              {signed(secret, set("webhook-id", "id.2")), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"other time":            {signed(secret, set("webhook-timestamp", "1700000001")), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"other scheme":          {signed(secret, set("webhook-signature", "v2,AAAA")), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"not base64":            {signed(secret, set("webhook-signature", "v1,?")), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"empty signature":       {signed(secret, set("webhook-signature", "v1,")), `{"a":1}`, now, standardwebhooks.ErrSignature},
		"no signature":          {signed("", same), `{"a":1}`, now, standardwebhooks.ErrHeaders},
		"no id":                 {signed(secret, set("webhook-id", "")), `{"a":1}`, now, standardwebhooks.ErrHeaders},
		"time is not a number":  {signed(secret, set("webhook-timestamp", "soon")), `{"a":1}`, now, standardwebhooks.ErrHeaders},
		"hundreds of signature": {signed(secret, set("webhook-signature", strings.Repeat("v1,AAAA ", 500))), `{"a":1}`, now, standardwebhooks.ErrSignature},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, secret).Verify(test.header, []byte(test.body), test.now, standardwebhooks.Tolerance)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestNothingFitsNoSecret(t *testing.T) {
	header := http.Header{}
	parse(t, secret).Sign(header, "a", time.Unix(0, 0), nil)
	if err := parse(t, "").Verify(header, nil, time.Unix(0, 0), 0); !errors.Is(err, standardwebhooks.ErrSignature) {
		t.Errorf("got %v", err)
	}
}

func TestParseSecretsRefuses(t *testing.T) {
	for _, text := range []string{"whsec_", "hunter2!", "whsec_hunter2!", secret + " whsec_?"} {
		_, err := standardwebhooks.ParseSecrets(text)
		if err == nil {
			t.Errorf("%q was accepted", text)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

func TestEncodeID(t *testing.T) {
	tests := map[string]string{
		"c1/1":           "c1/1",
		"a b/2":          "a b/2",
		" a/2":           "%20a/2",
		"a ":             "a%20",
		"100%/1":         "100%25/1",
		"ü\r\nx: y/1":    "%C3%BC%0D%0Ax: y/1",
		"tg:+49@x.org/7": "tg:+49@x.org/7",
		"":               "",
	}
	for id, want := range tests {
		if got := standardwebhooks.EncodeID(id); got != want {
			t.Errorf("EncodeID(%q) = %q, want %q", id, got, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("id", "1700000000", "v1,AAAA", "body")
	f.Add("", "-1", "v1a,x v1,= ", "")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		header := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		now := time.Unix(1_700_000_000, 0)
		if parse(t, secret).Verify(header, []byte(body), now, time.Minute) == nil {
			t.Fatalf("a signature was guessed: %v", header)
		}
		parse(t, secret).Sign(header, standardwebhooks.EncodeID(id), now, []byte(body))
		if strings.Trim(header.Get("webhook-id"), " ") != header.Get("webhook-id") || strings.ContainsAny(header.Get("webhook-id"), "\r\n") {
			t.Fatalf("a header can't carry %q", header.Get("webhook-id"))
		}
		if err := parse(t, secret).Verify(header, []byte(body), now, time.Minute); err != nil && id != "" {
			t.Fatalf("own signature refused: %v", err)
		}
	})
}

func ExampleSecrets() {
	secrets, err := standardwebhooks.ParseSecrets(secret)
	if err != nil {
		panic(err)
	}
	header, body, now := http.Header{}, []byte("{}"), time.Unix(1_700_000_000, 0)
	secrets.Sign(header, "c1/1", now, body)
	fmt.Println(secrets.Verify(header, body, now.Add(time.Minute), standardwebhooks.Tolerance))
	fmt.Println(secrets.Verify(header, []byte("forged"), now, standardwebhooks.Tolerance))
	// Output:
	// <nil>
	// no signature of the request fits the secret
}
