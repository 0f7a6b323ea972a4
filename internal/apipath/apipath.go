// Package apipath writes the paths of the HTTP API, for its clients within this module.
// Its one job is to escape names so that they arrive as they are. It must never import
// anything but the standard library.
package apipath

import (
	"maps"
	"net/url"
	"strings"
)

// Conversation is the path of a conversation or of something below it, such as "/flush",
// with its query. Clients and proxies remove the segments "." and ".." from a path,
// however they are escaped, so a conversation with such a name goes into the query; the
// server reads it there.
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

// Conversations is the path of a bot's conversations. A bot named "." or ".." has its
// dots escaped, which is the best that a path can do.
func Conversations(bot string) string {
	escaped := url.PathEscape(bot)
	if isDots(bot) {
		escaped = strings.ReplaceAll(bot, ".", "%2E")
	}
	return "/v1/bots/" + escaped + "/conversations"
}

func isDots(name string) bool { return name == "." || name == ".." }
