package simulate

import (
	"time"

	"github.com/onereply/onereply/internal/engine"
	wordlist "github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// settings are the fixed conditions of one run.
type settings struct {
	nodes         int
	conversations int // conversations
	alone         bool
	policy        turn.Policy
	parts         int           // most parts of a reply
	generations   int           // at once on a node
	whole         bool          // one send carries all parts
	pace          time.Duration // pause before each further part
	recognises    bool          // the channel shows a repeated part once
	deadlyTexts   bool          // a model that brings the process down does so over certain texts
	room          int           // entries that a cramped model takes at most
	timeout       time.Duration
	sendTimeout   time.Duration
	fastest       time.Duration // the model's usual time is from this
	slowest       time.Duration // to this
	slowestSend   time.Duration // a send usually takes up to this
	traffic       time.Duration // people write for so long
	polled        bool          // a part of the messages comes through a platform that is polled
}

// Times that belong to the world and not to a bot.
const (
	storeTimeout = 10 * time.Second // as in internal/node
	returnGrace  = 10 * time.Second // as in internal/node
	budgetPause  = 5 * time.Minute  // as in internal/engine
	clockError   = 15               // milliseconds by which a node may mistake the store's clock
	ordinaryLink = 6 * time.Millisecond
)

const botName = "bot"

// What a history holds at most: entries, and besides these messages that were not meant for
// the bot.
const (
	historyLength = 4
	observeLength = 2
)

func newSettings(seed uint64, nodes int) settings {
	d, own := roll(seed, "settings"), roll(seed, "settings of sends")
	signs := roll(seed, "settings of signs")
	debounce := pick(d, 0, 300*time.Millisecond, time.Second, 1500*time.Millisecond)
	lease := pick(d, 2*time.Second, 4*time.Second, 10*time.Second)
	recognises := d.chance(60)
	s := settings{
		nodes: pick(d, 1, 2, 2, 3), conversations: pick(d, 1, 1, 2, 3),
		policy: turn.Policy{
			Debounce: debounce, MaxWait: debounce + pick(d, 0, 2*time.Second, 5*time.Second),
			OnNewInput:  pick(d, turn.Interrupt, turn.Discard, turn.Finish, turn.Interrupt),
			MaxDiscards: pick(d, 0, 1, 2, 2), Lease: lease, MediaWait: 3 * time.Second,
			MaxAttempts: pick(d, 1, 2, 3), ResendUnknown: recognises, RetryFor: pick(d, 3*time.Second, 20*time.Second),
			DelayAfter: pick(signs, 0, 0, time.Second, 5*time.Second), OutageAfter: pick(signs, 0, 0, 2*time.Second),
			Fallback: d.chance(40), Refusal: d.chance(30), TurnsPerMinute: pick(d, 0, 0, 0, 12),
		},
		parts: pick(d, 1, 1, 2, 3), whole: d.chance(20), recognises: recognises,
		timeout: 15 * time.Second, sendTimeout: pick(own, lease/2, 15*time.Second), pace: pick(own, 0, 0, 300*time.Millisecond, 2*time.Second),
		fastest:     50 * time.Millisecond,
		slowest:     pick(d, time.Second, 3*time.Second, 6*time.Second),
		slowestSend: 400 * time.Millisecond,
		traffic:     pick(d, 10*time.Second, 20*time.Second, 40*time.Second),
	}
	if early := roll(seed, "early"); early.chance(25) {
		s.policy.EarlyAttempts = early.between(1, 3)
	}
	if budget := roll(seed, "budget"); budget.chance(15) {
		s.policy.Daily.Calls = int64(budget.between(1, 8))
	}
	if nodes > 0 {
		s.nodes = nodes
	}
	s.generations = d.between(1, 8)
	s.alone = s.nodes == 1 && d.chance(50)
	s.policy.SessionIdle = pick(d, 0, 0, 2*time.Second, 8*time.Second)
	s.policy.WaitingBytes = pick(roll(seed, "bytes"), 0, 0, 16, 40)
	s.policy.PromptBytes = pick(roll(seed, "prompt bytes"), 0, 0, 0, 12, 24)
	s.room = roll(seed, "room").between(1, 4)
	s.polled = roll(seed, "polled").chance(30)
	s.deadlyTexts = roll(seed, "deadly").chance(60)
	others := roll(seed, "others")
	s.policy.MaxBotTurns, s.policy.Observe, s.policy.MaxAge = pick(others, 0, 1, 1, 3), others.chance(70), time.Hour
	return s
}

// bot is what an engine is told of the bot.
func (s settings) bot() engine.Bot {
	return engine.Bot{
		Policy: s.policy, Fallback: "sorry", Refusal: "not that", History: historyLength, Observe: observeLength, GroupWait: 0, Whole: s.whole, Pace: engine.Pace{Least: s.pace},
		StopWords: wordlist.NewList([]string{stopText}), OptOutWords: wordlist.NewList([]string{leaveText}), OptInWords: wordlist.NewList([]string{backText}),
		ResetWords: wordlist.NewList([]string{freshText}),
	}
}

func (s settings) key(conversation int) store.Key {
	return store.Key{Bot: botName, Conversation: string(rune('a' + conversation))}
}
