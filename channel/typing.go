package channel

import (
	"sync"
	"time"
)

// typing remembers when people were last shown that the bot is writing. The runtime asks
// for it every few seconds, which is more often than some platforms need, and all count
// their calls. It forgets everything when it is full: people are then shown it once more.
type typing struct {
	mu    sync.Mutex
	shown map[string]typingShown // by conversation
}

type typingShown struct {
	message string
	at      time.Time
}

const (
	maxTyping   = 10_000
	typingEarly = 5 * time.Second // before the end of the last one, a new one is due
)

// isDue reports whether a conversation has to be shown it now, and takes it as shown.
func (t *typing) isDue(conversation, message string, lasts time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if last, ok := t.shown[conversation]; ok && last.message == message && now.Sub(last.at) < lasts-typingEarly {
		return false
	}
	if t.shown == nil || len(t.shown) >= maxTyping {
		t.shown = map[string]typingShown{}
	}
	t.shown[conversation] = typingShown{message, now}
	return true
}

// end says that a message was sent, which ends what people see.
func (t *typing) end(conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shown, conversation)
}
