package onereply

import (
	"time"

	"github.com/onereply/onereply/internal/inspect"
)

// Limits. What exceeds one is refused, and nothing of it is stored.
const (
	MaxNameBytes        = 512              // of a bot's name, a conversation, a message id
	MaxTextBytes        = 64 << 10         // of a message, or of a human's reply
	MaxReplyBytes       = 256 << 10        // of a responder's reply; a longer one is a failed attempt
	MaxAttachments      = 32               // of a message
	MaxAttachmentBytes  = 4 << 10          // of an attachment's URL, kind and type together
	MaxMetadataBytes    = 16 << 10         // of a message's metadata
	MaxSenderBytes      = 1 << 10          // of a sender's id and name together
	MaxHistory          = 500              // entries given to a responder
	MaxPendingMessages  = 10_000           // that wait in one conversation
	MaxParts            = 100              // of one reply
	MaxTyping           = 10 * time.Minute // that one typing signal may ask for
	MaxTimelineSteps    = inspect.MaxSteps // of one turn, the last ones
	MaxTimelineTurns    = 100              // of one timeline
	MaxPreviewRunes     = 200              // characters of a last input that a list shows
	MaxQueuedHumanReply = 100              // replies of people that wait to be sent in one conversation
)
