package apipath_test

import (
	"net/url"
	"path"
	"testing"

	"github.com/onereply/onereply/internal/apipath"
)

func TestConversation(t *testing.T) {
	limit := url.Values{"limit": {"2"}}
	for _, test := range []struct {
		conversation, below string
		query               url.Values
		want                string
	}{
		{"c d", "/turns/9/seal", nil, "/v1/bots/b%2F1/conversations/c%20d/turns/9/seal"},
		{"c", "", limit, "/v1/bots/b%2F1/conversations/c?limit=2"},
		{"-", "/flush", nil, "/v1/bots/b%2F1/conversations/-/flush"},
		{".", "", nil, "/v1/bots/b%2F1/conversations/-?conversation=."},
		{"..", "/transcript", limit, "/v1/bots/b%2F1/conversations/-/transcript?conversation=..&limit=2"},
		{"...", "/flush", nil, "/v1/bots/b%2F1/conversations/.../flush"},
	} {
		got := apipath.Conversation("b/1", test.conversation, test.below, test.query)
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.conversation, got, test.want)
		}
		if u, err := url.Parse(got); err != nil || path.Clean(u.EscapedPath()) != u.EscapedPath() {
			t.Errorf("%s does not stay what it is: %v", got, err)
		}
	}
	if len(limit) != 1 {
		t.Errorf("the caller's query is %v now", limit)
	}
}
