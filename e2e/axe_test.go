package e2e

import (
	"github.com/chromedp/chromedp"
)

// passes fails the test for each rule of axe-core that the page breaks.
func (p *page) passes(state string) {
	p.t.Helper()
	const check = `axe.run(document, {resultTypes: ['violations']}).then(({violations}) =>
		violations.map(({id, help, nodes}) => id + ': ' + help + '\n  ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('\n  ')))`
	broken, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](check, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, rule := range broken {
		p.t.Errorf("%s: %s", state, rule)
	}
}
