// Package bench measures how fast onereply is on this machine, and how near to
// what the machine allows.
//
// Its one job is to put reproducible loads on the real library, store and HTTP
// API, and to measure a limit beside each in the same round: the same bytes
// appended to a file and fsynced in groups, a handler that stores nothing, a
// timer of the runtime. Machines and hours differ; the ratio of two figures that
// were taken in turn differs little. Every figure is the median of several
// rounds, with the least and the greatest beside it.
//
// Read the files in this order:
//
//	bench.go        the measurements by name, and how rounds are run
//	report.go       what comes out: rows, as a table and as JSON
//	sample.go       medians and percentiles
//	node.go         a node on a store of its own
//	acknowledge.go  acknowledgements in the process   (limit: grouplog.go)
//	http.go         acknowledgements over HTTP        (load: client.go)
//	start.go        from the end of the window to the start of the model
//	hot.go          one conversation that gets a thousand inputs a second
//	nodes.go        acknowledgements over HTTP by processes that share a store
//	takeover.go     from a killed process to its successor
//	cost.go         what a turn costs in writes, reads, bytes and allocations
//	timers.go       very many conversations that wait
//	mixed.go        a day of people, in minutes
//	plot.go         a figure over time, as SVG
//
// It listens on loopback only. It must never import a concrete store or cmd:
// the command gives it the store to measure.
package bench
