package chatmodel

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/onereply/onereply/internal/proof/respondertest"
)

// TestAConfiguredHeaderTakesThePlaceOfTheKey: names of headers differ by case only in
// the eyes of people.
func TestAConfiguredHeaderTakesThePlaceOfTheKey(t *testing.T) {
	var got []string
	server := respondertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Values("Authorization") })
	for range 20 { // the order of a map is not the same each time
		c := Config{
			BaseURL: server, APIKey: "key", Model: "m", KeyHeader: "Authorization", KeyPrefix: "Bearer ",
			Headers: map[string]string{"authorization": "Basic other"},
		}
		endpoint, err := c.Endpoint(func(base *url.URL) *url.URL { return base })
		if err != nil {
			t.Fatal(err)
		}
		answer, err := endpoint.Ask(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Close()
		if len(got) != 1 || got[0] != "Basic other" {
			t.Fatalf("Authorization is %q, want the configured one", got)
		}
	}
}
