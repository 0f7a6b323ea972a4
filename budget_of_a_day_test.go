package onereply_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// A bot that has used up its budget is a matter for Attention once somebody waits for it, on
// each node, and until the next day begins; what waited is answered then.
func TestBudgetOfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble begins at midnight, UTC
		w := newWorld(t, settings{nodes: 2, model: time.Second, bot: onereply.Bot{Budget: onereply.Budget{ModelCalls: 1}}})
		defer w.close()
		w.say(0, "m1")
		rest(time.Minute)
		wantNeeds(t, w.nodes[0])
		w.say(1, "m2")
		rest(time.Minute)
		const want = `over_budget /0 "the budget of the bot is used up (model_calls_per_day: 1): it goes on at 2000-01-02T00:00:00Z, or once the budget is raised" []`
		for _, app := range w.nodes {
			wantNeeds(t, app, want)
		}
		if lines, _ := needs(t, w.nodes[0], onereply.AttentionQuery{Bots: []string{"another"}}); len(lines) > 0 {
			t.Errorf("a key of another bot is told %q", lines)
		}
		if lines, _ := needs(t, w.nodes[0], onereply.AttentionQuery{Bot: "bot", Limit: 1}); !slices.Equal(lines, []string{want}) {
			t.Errorf("of this bot: %q", lines)
		}
		page, err := w.nodes[0].Conversations(t.Context(), onereply.ConversationQuery{})
		if err != nil || len(page.Conversations) != 1 {
			t.Errorf("the budget is listed as a conversation: %+v, %v", page, err)
		}
		if got := w.nodes[0].Stats().OverBudget + w.nodes[1].Stats().OverBudget; got == 0 {
			t.Error("nothing is counted")
		}
		rest(24 * time.Hour)
		wantNeeds(t, w.nodes[0])
		w.wantReplies("m1", "m2")
	})
}
