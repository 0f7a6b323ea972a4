package onereply

import (
	"cmp"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Limits of names and texts, in bytes. An input that exceeds one is refused with
// [CodeInvalid], and nothing of it is stored.
const (
	MaxNameBytes       = 512       // of a bot's name, a conversation, the ID of a message or a reply
	MaxTextBytes       = 64 << 10  // of a message, of one that it quotes, or of a human's reply
	MaxAttachmentBytes = 4 << 10   // of an attachment's URL, kind and type together
	MaxSenderBytes     = 1 << 10   // of a sender's ID and name together
	MaxReplyBytes      = 256 << 10 // of a responder's reply; a longer one is a failed attempt
)

// Limits of numbers.
const (
	MaxAttachments = 32  // of a message
	MaxHistory     = 500 // entries given to a responder, and as many of Observe
	MaxParts       = 100 // of one reply; more are a failed attempt

	MaxPendingMessages  = engine.MaxPending // that wait in one conversation; further ones are refused with [CodeTooMany]
	MaxQueuedHumanReply = turn.MaxQueue     // replies of people that wait to be sent in one conversation; likewise
	MaxEarlyEdits       = turn.MaxEarly     // that are kept in one conversation for messages that have not come; likewise
	EarlyEditKept       = turn.EarlyFor     // how long such an edit is kept
)

// Limits are the budgets in bytes of a node: what people and responders may have it hold.
// All nodes of a store should have the same. A field that is 0 means its default.
type Limits struct {
	// WaitingBytes is how much may wait in one conversation, or be set aside in it: the
	// texts, names, quotes, attachments and metadata of those messages together. A message
	// with which it would be more is refused with [CodeTooMany], and so is an edit. Default
	// 4 MiB; less than [MinWaitingBytes] means that.
	WaitingBytes int

	// PromptBytes is how large a prompt may be, counted in the same way. Its history gives
	// way first, the oldest entries before the newer ones. If the waiting messages alone are
	// more, the first ones that fit are answered, in the order of acceptance, and the others
	// are the next turn's. A single message that is larger is answered all the same. Default
	// 1 MiB; less than [MinPromptBytes] means that.
	PromptBytes int

	// MetadataBytes is how large the metadata of a message may be. A message with more is
	// refused with [CodeInvalid]. Default 64 KiB; more than [MaxMetadataBytes] means that.
	MetadataBytes int

	// RingBytes is about what the events may take that the node keeps for readers who come
	// back: see [App.Watch]. Default 64 MiB; less than [MinRingBytes] means that.
	RingBytes int
}

// The bounds of [Limits].
const (
	MinWaitingBytes  = 512 << 10 // any one message fits
	MinPromptBytes   = 64 << 10  // a text fits
	MaxMetadataBytes = 128 << 10
	MinRingBytes     = 1 << 20
)

func (l Limits) withDefaults() Limits {
	l.WaitingBytes = max(cmp.Or(l.WaitingBytes, 4<<20), MinWaitingBytes)
	l.PromptBytes = max(cmp.Or(l.PromptBytes, 1<<20), MinPromptBytes)
	l.MetadataBytes = min(cmp.Or(max(l.MetadataBytes, 0), 64<<10), MaxMetadataBytes)
	l.RingBytes = max(cmp.Or(l.RingBytes, 64<<20), MinRingBytes)
	return l
}

// MaxAliases is how many other names a conversation can have; a further one is refused
// with [CodeTooMany].
const MaxAliases = turn.MaxAliases

// MaxPause is the longest pause before a part of a reply: see [Pace].
const MaxPause = engine.MaxPause

// Limits of queries, and of what they show.
const (
	MaxPageBytes     = store.MaxPageBytes   // of the entries of a page, as they are stored; one is always given
	MaxTyping        = 10 * time.Minute     // that one typing signal may ask for
	MaxPauseFor      = 720 * time.Hour      // that a pause may last before it ends by itself
	MaxTimelineSteps = inspect.MaxSteps     // of one turn of a timeline, the last ones
	MaxTimelineTurns = 100                  // of one timeline
	MaxPreviewRunes  = inspect.PreviewRunes // characters of a last input that a list shows
)
