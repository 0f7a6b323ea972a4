package upstream_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/respondertest"
	"github.com/onereply/onereply/internal/upstream"
)

// TestErrorsShowNoSecretOfTheURL: the other program may echo the address that it was asked
// at, as it came or decoded. An error holds no password, no token of the query and no long
// part of the path, in which webhooks have theirs.
func TestErrorsShowNoSecretOfTheURL(t *testing.T) {
	secrets := []string{"hunt2", "p@ss word/1", "tok+en=12345", "bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", base64.StdEncoding.EncodeToString([]byte("ann:p@ss word/1"))}
	for form, echo := range map[string]func(r *http.Request) string{
		"as it came": func(r *http.Request) string { return r.RequestURI + " " + fmt.Sprint(r.Header) },
		"decoded": func(r *http.Request) string {
			user, password, _ := r.BasicAuth()
			return fmt.Sprint(user, " ", password, " ", r.URL.Path, " ", r.URL.Query())
		},
		"within JSON": func(r *http.Request) string {
			return fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, r.RequestURI, r.URL.Query().Get("token"))
		},
	} {
		t.Run(form, func(t *testing.T) {
			base := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, echo(r))
			})
			for _, password := range []string{"hunt2", "p@ss word/1"} {
				address, err := url.Parse(base)
				if err != nil {
					t.Fatal(err)
				}
				address.User = url.UserPassword("ann", password)
				address.Path = "/v1/bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/chat/completions"
				address.RawQuery = url.Values{"token": {"tok+en=12345"}, "v": {"2"}}.Encode()
				answer, err := endpoint(t, upstream.Options{URL: address.String()}).Post(t.Context(), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				text := answer.Refusal().Error()
				answer.Close()
				for _, secret := range secrets {
					for _, written := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:]} {
						if strings.Contains(text, written) {
							t.Errorf("%q shows %q", text, written)
						}
					}
				}
				if !strings.Contains(text, "[secret]") || strings.HasPrefix(form, "as") && !strings.Contains(text, "chat/completions") {
					t.Errorf("%q tells too little", text)
				}
			}
		})
	}
}
