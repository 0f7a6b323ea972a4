package engine

import (
	"fmt"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A bot with a budget asks before each call of its model. Between the reading of the prompt
// and the call there is then one write more, to the record of the budget (turn.Spend). The
// calls of one node that ask at the same moment share it.

// BudgetKey names the record that counts what a bot has used up.
func BudgetKey(bot string) store.Key { return store.Key{Bot: bot, Conversation: "onereply:budget"} }

// budgetPause is the pause after a call that the budget refused: somebody may raise the
// budget meanwhile. It ends earlier if another day begins.
const budgetPause = 5 * time.Minute

// asker is the attempt that waits for the answer to a Spend; a nonce of "": none does.
type asker struct {
	key   store.Key
	nonce string
}

// askForCall asks the bot's budget for a call, and begins it at once where there is none.
func (n *Node) askForCall(c *conversation) {
	if n.bot(c).Policy.Daily == (turn.DailyBudget{}) {
		n.start(c)
		return
	}
	n.submitOwn(n.get(BudgetKey(c.key.Bot)), &task{event: turn.Spend{Calls: 1}, asker: asker{c.key, c.run.lease.Nonce}})
}

// callAnswered begins the call that a task has asked for, or ends its attempt. An attempt that
// was stopped meanwhile begins none: its call stays counted.
func (n *Node) callAnswered(budget *conversation, t *task) {
	if t.asker.nonce == "" {
		return
	}
	c := n.get(t.asker.key)
	r := c.run
	switch {
	case r == nil || r.lease.Nonce != t.asker.nonce || r.started || r.ended:
		n.release(c)
	case r.stopped != "":
		n.runEnded(c, &task{})
	case t.result.Reason == turn.OverBudget:
		n.Counters.OverBudget++
		n.runEnded(c, &task{event: turn.GenerateFailed{
			Nonce: r.lease.Nonce, Fault: turn.Outage, Jitter: n.jitter(), After: min(budgetPause, turn.NextDay(n.now).Sub(n.now)),
			Text: BudgetUsedUp(n.bot(c).Policy.Daily, budget.snap.Record.Spent, n.now),
		}})
	default:
		n.start(c)
	}
}

// spendTokens counts the tokens of a call that has ended.
func (n *Node) spendTokens(bot string, tokens int64) {
	if tokens > 0 && n.options.Bots[bot].Policy.Daily.Tokens > 0 {
		n.submitOwn(n.get(BudgetKey(bot)), &task{event: turn.Spend{Tokens: tokens}})
	}
}

// BudgetUsedUp tells people that a bot has used up its budget, and how that ends.
func BudgetUsedUp(b turn.DailyBudget, s turn.Spent, now turn.Time) string {
	most := fmt.Sprintf("model_calls_per_day: %d", b.Calls)
	if b.Calls == 0 || s.Calls < b.Calls {
		most = fmt.Sprintf("tokens_per_day: %d", b.Tokens)
	}
	return fmt.Sprintf("the budget of the bot is used up (%s): it goes on at %s, or once the budget is raised", most, turn.NextDay(now).Go().Format(time.RFC3339))
}
