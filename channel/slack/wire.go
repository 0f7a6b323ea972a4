package slack

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The parts of Slack's objects that are read here. Fields that are absent have their zero
// values.

// envelope is the body of a request.
type envelope struct {
	Type      string          `json:"type"` // url_verification, event_callback, …
	Challenge string          `json:"challenge"`
	Team      string          `json:"team_id"`
	App       string          `json:"api_app_id"`
	Event     json.RawMessage `json:"event"`

	Authorizations []struct {
		User  string `json:"user_id"`
		IsBot bool   `json:"is_bot"`
	} `json:"authorizations"`
}

// event is a message, or what became of one.
type event struct {
	Type        string `json:"type"`    // message or app_mention; others are not read
	Subtype     string `json:"subtype"` // "": an ordinary message
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"` // im, mpim, channel, group; not told of a mention
	message

	// Of an edit: how the message reads now, and read before. Of a deletion: the latter.
	Message  *message `json:"message"`
	Previous *message `json:"previous_message"`
	Deleted  string   `json:"deleted_ts"`
	EventTS  string   `json:"event_ts"`
}

type message struct {
	Subtype string `json:"subtype"`
	User    string `json:"user"`
	Bot     string `json:"bot_id"`
	App     string `json:"app_id"`
	Text    string `json:"text"`
	TS      string `json:"ts"`
	Thread  string `json:"thread_ts"` // "": in none
	Files   []file `json:"files"`
	Edited  *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Profile *struct {
		Display string `json:"display_name"`
		Real    string `json:"real_name"`
		Name    string `json:"name"`
	} `json:"user_profile"`
	BotProfile *struct {
		App  string `json:"app_id"`
		Name string `json:"name"`
	} `json:"bot_profile"`
	Username string `json:"username"` // under which another program posts
}

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MIMEType string `json:"mimetype"`
	Mode     string `json:"mode"` // tombstone: it was deleted
}

// answer is what the API says to a call.
type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	TS    string `json:"ts"`
}

// timeOf is the time of a time stamp such as 1531431954.000073; the zero value where it is
// none.
func timeOf(ts string) time.Time {
	whole, part, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	micros, err := strconv.ParseInt((part + "000000")[:6], 10, 64)
	if err != nil {
		micros = 0
	}
	return time.Unix(seconds, micros*1000).UTC()
}
