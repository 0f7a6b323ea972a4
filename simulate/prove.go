package simulate

import "slices"

// Seeded is a fault that was put in on purpose, and what became of it.
type Seeded struct {
	Fault string `json:"fault"` // what was put in
	Check string `json:"check"` // which check saw it, "": none
	Runs  int    `json:"runs"`  // after how many runs
}

// Prove puts each fault in, and says which check catches it. It gives up on a
// fault after so many runs.
func Prove(most int) []Seeded {
	var table []Seeded
	for _, v := range variants() {
		table = append(table, proveOne(v, most))
	}
	return table
}

func proveOne(v variant, most int) Seeded {
	found := Seeded{Fault: v.name}
	for seed := range most {
		o := Options{variant: v}
		for _, what := range v.needs {
			o.Faults = append(o.Faults, string(what))
		}
		if w := o.playSeed(uint64(seed) + 1); w.broken != nil {
			found.Check, found.Runs = w.broken.Check, seed+1
			break
		}
	}
	return found
}

// variants are the faults of the table.
func variants() []variant {
	return slices.Concat(coreFaults(), storeFaults(), runtimeFaults())
}

func coreFaults() []variant {
	return []variant{
		{name: "the final check reads the version, and commits whatever came", step: before(commitUnchecked)},
		{name: "the nonce of a result is not compared", needs: []What{freeze, storeAway, partition}, step: before(resultsNotFenced)},
		{name: "the nonce of a renewal is not compared", step: before(renewalsNotFenced)},
		{name: "the nonce of a send's result is not compared", needs: []What{sendSlow, storeAway, storeSlow, partition}, step: before(sendsNotFenced)},
		{name: "a lease is ignored", step: before(leaseIgnored)},
		{name: "an early wake-up acts", step: before(earlyWakeActs)},
		{name: "there is no hard cap", step: before(noHardCap)},
		{name: "the hard cap starts anew with each input after a discard", step: before(capRestarted)},
		{name: "the bound on discards is never reached", step: before(boundNeverReached)},
		{name: "a reply is sent for what it saw before the bound is reached", step: before(boundAtOnce)},
		{name: "a send that timed out counts as failed", step: before(timeoutIsFailure)},
		{name: "the lease is not given back", step: behind(leaseKept)},
		{name: "an edit does not raise the version", step: behind(editDoesNotBump)},
		{name: "an input does not restart the quiet time", step: behind(quietNotRestarted)},
		{name: "a reply is withdrawn after an unknown send", step: before(withdrawnAfterUnknown)},
		{name: "a part that failed for certain counts as sent", step: before(failedIsSent)},
		{name: "a pause does not keep attempts from starting", step: before(pauseIgnored)},
		{name: "a seal is forgotten", step: before(sealForgotten)},
		{name: "the end of a turn goes idle without looking for newer input", step: behind(idleUnseen)},
		{name: "an attempt that brings its worker down is not counted", step: before(lostNotCounted)},
	}
}

func storeFaults() []variant {
	return []variant{
		{name: "a plain write instead of the compare-and-swap", flaws: flaws{plainWrites: true}},
		{name: "going idle without a swap", flaws: flaws{idleUnchecked: true}},
		{name: "a renewal overwrites newer input", flaws: flaws{renewUnchecked: true}},
		{name: "the end of a turn deletes the timer", flaws: flaws{timerOverwritten: true}},
		{name: "a wake-up that lost the race deletes the timer", needs: []What{crash}, flaws: flaws{staleFireClears: true}},
		{name: "the end of a turn settles whatever waits", flaws: flaws{settlesAll: true}},
		{name: "a claim that dies never comes back", needs: []What{crash, readFails}, flaws: flaws{claimsAreLost: true}},
		{name: "nobody looks for timers of lost workers", flaws: flaws{noClaims: true}},
		{name: "a repeated id is found after the version grew", flaws: flaws{dedupeAfterBump: true}},
	}
}

func runtimeFaults() []variant {
	return []variant{
		{name: "what a reply covers is computed at its commit", flaws: flaws{coversAtCommit: true}},
		{name: "the prompt is read after the version", flaws: flaws{promptReadLate: true}},
		{name: "a holder that lost its lease goes on", needs: []What{partition, modelHangs}, flaws: flaws{stopsIgnored: true}},
		{name: "timers fire a minute late", flaws: flaws{ticksLate: true}},
		{name: "leases by the local wall clock", flaws: flaws{wallClock: true}},
		{name: "a write of unknown outcome is taken for applied", flaws: flaws{unknownIsApplied: true}},
		{name: "the id of the operation is ignored", needs: []What{unknownKept}, flaws: flaws{opIgnored: true}},
		{name: "the message is acknowledged before it is written", flaws: flaws{ackBeforeWrite: true}},
		{name: "a send is not fenced", flaws: flaws{sendsWait: true}},
		{name: "the deadline of a send is ignored", needs: []What{sendSlow, partition}, flaws: flaws{deadlineIgnored: true}},
		{name: "an unknown send is tried again at once", needs: []What{sendUnsureYes}, flaws: flaws{retriesBlindly: true}},
		{name: "the id of a reply names the attempt", flaws: flaws{attemptID: true}},
	}
}
