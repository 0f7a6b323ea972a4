package redis

import (
	"errors"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/onereply/onereply/store"
)

// nameOf is a key as one string: the length of the bot, a colon, the bot, the
// conversation. No two keys have the same, whatever is in them, and within a
// bot names sort as [store.Key.Compare] does. Names are part of the server's keys and are
// members of its sorted sets, and bot_of in names.lua reads them: their form is fixed.
func nameOf(key store.Key) string {
	return strconv.Itoa(len(key.Bot)) + ":" + key.Bot + key.Conversation
}

// keyOf is the inverse of nameOf. It refuses any text that nameOf can't have made: another
// program may have put it there.
func keyOf(name string) (store.Key, error) {
	key, rest, err := cutName(name, len(name))
	if err != nil || rest != "" {
		return store.Key{}, errors.New("not the name of a conversation: " + strconv.Quote(name))
	}
	return key, nil
}

// cutName takes a name of a known length from the front of text. The length is one that
// somebody claims, so it is checked. A number with leading zeros or a sign is refused, so
// that each key has exactly one name.
func cutName(text string, length int) (key store.Key, rest string, err error) {
	malformed := errors.New("not the name of a conversation")
	if length < 0 || length > len(text) {
		return key, "", malformed
	}
	size, names, found := strings.Cut(text[:length], ":")
	bot, err := strconv.Atoi(size)
	if !found || err != nil || bot < 0 || bot > len(names) || strconv.Itoa(bot) != size {
		return key, "", malformed
	}
	return store.Key{Bot: names[:bot], Conversation: names[bot:]}, text[length:], nil
}

// shards is the fixed set of shards of one deployment.
type shards struct {
	prefix string
	count  int
}

// root is the beginning of all keys of a shard. The part in braces decides the
// hash slot, so a cluster keeps all keys of a shard on one server, and a script may use
// them together.
func (s shards) root(number int) string {
	return "{" + s.prefix + ":" + strconv.Itoa(number) + "}"
}

// of is the root of the shard that has a conversation. It must never change:
// the conversations that are there would not be found. It is the hash
// FNV-1a of the name, in 64 bits, modulo the number of shards.
func (s shards) of(name string) string {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return s.root(int(hash.Sum64() % uint64(s.count)))
}

// roots are the roots of all shards.
func (s shards) roots() []string {
	roots := make([]string, s.count)
	for i := range roots {
		roots[i] = s.root(i)
	}
	return roots
}
