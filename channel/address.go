package channel

import (
	"net/url"
	"strings"
)

// Address is a chat as its platform names it: one or more parts, such as the number of a
// chat and that of a topic in it. The first part is never empty.
type Address []string

// Key is the name of the chat's conversation, for an account of this name. All bytes but
// ASCII letters, digits and "-._~" are percent-encoded, so that no two addresses have the
// same key.
func (a Address) Key(account string) string {
	var b strings.Builder
	b.WriteString(account)
	for _, part := range a {
		b.WriteByte(':')
		escape(&b, part)
	}
	return b.String()
}

// ParseKey is the address of a conversation. It reports false where the name is not of
// this account.
func ParseKey(account, key string) (Address, bool) {
	rest, ok := strings.CutPrefix(key, account+":")
	if !ok || rest == "" {
		return nil, false
	}
	var a Address
	for part := range strings.SplitSeq(rest, ":") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		a = append(a, plain)
	}
	return a, a[0] != ""
}

func escape(b *strings.Builder, part string) {
	const digits = "0123456789ABCDEF"
	for i := range len(part) {
		c := part[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
}
