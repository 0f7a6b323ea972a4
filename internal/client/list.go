package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/apipath"
)

// Page is a part of a list of conversations.
type Page struct {
	Conversations []Document[onereply.State] `json:"conversations"`
	Next          string                     `json:"next_cursor"` // gives the next page; "" at the end
}

// List is one page of conversations, newest activity first, of one bot or of all. A
// caller that wants more passes the page's Next as the Cursor of its next call. With
// Limit 0 the node chooses how many a page has.
func (c *Client) List(ctx context.Context, q onereply.ConversationQuery) (Page, error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("phase", string(q.Phase))
	set("cursor", q.Cursor)
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	path := "/v1/conversations"
	if q.Bot != "" {
		path = apipath.Conversations(q.Bot)
	}
	return fetch[Page](ctx, c, http.MethodGet, path+"?"+query.Encode(), nil)
}
