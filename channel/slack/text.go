package slack

import (
	"regexp"
	"strings"
)

// Slack's markup has three signs, which are escaped wherever they are meant as themselves.
var (
	escape   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescape = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
)

// markup is a part of a text that stands for something else: a person, a channel, a group
// of people or a link, with or without a label.
var markup = regexp.MustCompile(`<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>`)

// plain is a text as a person reads it. A mention of the bot at the beginning goes: it says
// to whom the rest is said.
func plain(text, self string) string {
	text = strings.TrimSpace(text)
	if at := markup.FindStringSubmatchIndex(text); self != "" && at != nil && at[0] == 0 && mentions(text[:at[1]], self) {
		text = strings.TrimLeft(text[at[1]:], " :,\n\t\u00a0")
	}
	text = markup.ReplaceAllStringFunc(text, func(found string) string {
		part := markup.FindStringSubmatch(found)
		sign, what, label := part[1], part[2], part[3]
		switch {
		case sign == "#", sign == "@":
			return sign + orElse(label, what)
		case sign == "!":
			name, _, _ := strings.Cut(what, "^")
			return "@" + strings.TrimPrefix(orElse(label, name), "@")
		case label != "" && label != what:
			return label + " (" + strings.TrimPrefix(what, "mailto:") + ")"
		}
		return what
	})
	return unescape.Replace(text)
}

// mentions reports whether a text mentions somebody; anybody, where self is "".
func mentions(text, self string) bool {
	for _, part := range markup.FindAllStringSubmatch(text, -1) {
		if part[1] == "@" && (self == "" || part[2] == self) {
			return true
		}
	}
	return false
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
