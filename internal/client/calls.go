package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/apipath"
)

// Message is a message to send.
type Message struct {
	ID     string           `json:"id,omitempty"` // "": the node makes one
	Text   string           `json:"text"`
	Sender *onereply.Person `json:"sender,omitempty"`
}

// Send hands a message in. It returns once the message is durable, and before a model
// runs. With an ID it may be repeated after an error: the node takes an id once.
func (c *Client) Send(ctx context.Context, bot, conversation string, m Message) (Document[onereply.Receipt], error) {
	return fetch[Document[onereply.Receipt]](ctx, c, http.MethodPost, path(bot, conversation, "/messages"), m)
}

// Reply delivers a reply from outside, and closes all waiting messages, unless it says
// otherwise. Without an ID a repeat sends a second reply: after an error, look at the
// transcript first.
func (c *Client) Reply(ctx context.Context, bot, conversation string, r onereply.HumanReply) (Document[onereply.Receipt], error) {
	body := struct {
		ID       string `json:"id,omitempty"`
		Text     string `json:"text"`
		Closes   bool   `json:"closes"`
		Sent     bool   `json:"sent,omitempty"`
		PauseFor string `json:"pause_for,omitempty"`
	}{ID: r.ID, Text: r.Text, Closes: !r.Beside, Sent: r.Sent, PauseFor: duration(r.PauseFor)}
	return fetch[Document[onereply.Receipt]](ctx, c, http.MethodPost, path(bot, conversation, "/replies"), body)
}

// Channels are what a node tells of a bot's channels.
type Channels struct {
	Channels []onereply.ChannelStatus `json:"channels"`
}

// Channels returns what happened on a bot's channels since the node started.
func (c *Client) Channels(ctx context.Context, bot string) (Document[Channels], error) {
	return fetch[Document[Channels]](ctx, c, http.MethodGet, "/v1/bots/"+url.PathEscape(bot)+"/channels", nil)
}

// Flush ends the quiet time now, so that waiting messages are answered at once.
func (c *Client) Flush(ctx context.Context, bot, conversation string) (Document[onereply.State], error) {
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/flush"), nil)
}

// Requeue tries a failed turn again.
func (c *Client) Requeue(ctx context.Context, bot, conversation string) (Document[onereply.State], error) {
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/requeue"), nil)
}

// Resend sends the reply of a turn again, whose outcome is unknown or of which only a
// part was sent.
func (c *Client) Resend(ctx context.Context, bot, conversation string, turn int64) (Document[onereply.State], error) {
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, turnPath(bot, conversation, turn, "/resend"), nil)
}

// MarkSent marks such a reply as sent.
func (c *Client) MarkSent(ctx context.Context, bot, conversation string, turn int64) (Document[onereply.State], error) {
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, turnPath(bot, conversation, turn, "/mark-sent"), nil)
}

// turnPath is the path of something below a turn.
func turnPath(bot, conversation string, turn int64, below string) string {
	return path(bot, conversation, "/turns/"+strconv.FormatInt(turn, 10)+below)
}

// Timeline is the steps of the last turns, 1 to 100 of them.
func (c *Client) Timeline(ctx context.Context, bot, conversation string, turns int) (Document[onereply.Timeline], error) {
	return fetch[Document[onereply.Timeline]](ctx, c, http.MethodGet, apipath.Conversation(bot, conversation, "/timeline", url.Values{"turns": {strconv.Itoa(turns)}}), nil)
}

// Pause hands the conversation to a human, for a while or until a resume.
func (c *Client) Pause(ctx context.Context, bot, conversation string, p onereply.Pause) (Document[onereply.State], error) {
	body := struct {
		Reason string `json:"reason"`
		For    string `json:"for,omitempty"`
	}{p.Reason, duration(p.For)}
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/pause"), body)
}

// Move gives the conversation another key.
func (c *Client) Move(ctx context.Context, bot, conversation, to string) (Document[onereply.State], error) {
	body := struct {
		To string `json:"to"`
	}{to}
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/move"), body)
}

// SetAlias has a name lead to a conversation.
func (c *Client) SetAlias(ctx context.Context, bot, alias, conversation string) (Document[onereply.NamedConversation], error) {
	body := struct {
		Conversation string `json:"conversation"`
	}{conversation}
	return fetch[Document[onereply.NamedConversation]](ctx, c, http.MethodPut, aliasPath(bot, alias), body)
}

// Alias tells where a name leads.
func (c *Client) Alias(ctx context.Context, bot, alias string) (Document[onereply.NamedConversation], error) {
	return fetch[Document[onereply.NamedConversation]](ctx, c, http.MethodGet, aliasPath(bot, alias), nil)
}

// RemoveAlias frees a name.
func (c *Client) RemoveAlias(ctx context.Context, bot, alias string) error {
	return c.call(ctx, http.MethodDelete, aliasPath(bot, alias), nil, nil)
}

func aliasPath(bot, alias string) string {
	return "/v1/bots/" + url.PathEscape(bot) + "/aliases/" + url.PathEscape(alias)
}

// Reset begins afresh: waiting messages are closed, and later turns know nothing of what
// was said before.
func (c *Client) Reset(ctx context.Context, bot, conversation, reason string) (Document[onereply.State], error) {
	body := struct {
		Reason string `json:"reason"`
	}{reason}
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/reset"), body)
}

// duration is a duration as the API takes it; "" stands for none.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Resume gives the conversation back to the bot. With answer, waiting messages are
// answered; otherwise they are closed.
func (c *Client) Resume(ctx context.Context, bot, conversation string, answer bool) (Document[onereply.State], error) {
	body := struct {
		Answer bool `json:"answer_pending"`
	}{answer}
	return fetch[Document[onereply.State]](ctx, c, http.MethodPost, path(bot, conversation, "/resume"), body)
}

// State is the state of a conversation.
func (c *Client) State(ctx context.Context, bot, conversation string) (Document[onereply.State], error) {
	return fetch[Document[onereply.State]](ctx, c, http.MethodGet, path(bot, conversation, ""), nil)
}

// Transcript gives a page of entries with a sequence greater than after, in rising
// order, and the sequence after which the next page begins: 0 after the last one.
func (c *Client) Transcript(ctx context.Context, bot, conversation string, after int64, limit int) (entries []Document[onereply.Entry], next int64, err error) {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}
	type transcript struct {
		Entries []Document[onereply.Entry] `json:"entries"`
		Next    int64                      `json:"next"`
	}
	page, err := fetch[transcript](ctx, c, http.MethodGet, apipath.Conversation(bot, conversation, "/transcript", query), nil)
	return page.Entries, page.Next, err
}

// Forget deletes all that is stored of a conversation. There is no way back.
func (c *Client) Forget(ctx context.Context, bot, conversation string) error {
	return c.call(ctx, http.MethodDelete, path(bot, conversation, ""), nil, nil)
}

// path is the path of something below a conversation.
func path(bot, conversation, below string) string {
	return apipath.Conversation(bot, conversation, below, nil)
}
