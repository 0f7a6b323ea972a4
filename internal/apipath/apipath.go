// Package apipath writes paths of the HTTP API. It imports the standard library only.
package apipath

import (
	"maps"
	"net/url"
	"strings"
)

// Conversation is the path of what is below a conversation ("/flush"), with its query.
// Clients and proxies take the names "." and ".." out of a path, however they are
// escaped: they go into the query.
func Conversation(bot, conversation, below string, query url.Values) string {
	if isDots(conversation) {
		query = maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		query.Set("conversation", conversation)
		conversation = "-"
	}
	path := Conversations(bot) + "/" + url.PathEscape(conversation) + below
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// Conversations is the path of those of a bot.
func Conversations(bot string) string {
	escaped := url.PathEscape(bot)
	if isDots(bot) {
		escaped = strings.ReplaceAll(bot, ".", "%2E")
	}
	return "/v1/bots/" + escaped + "/conversations"
}

func isDots(name string) bool { return name == "." || name == ".." }
