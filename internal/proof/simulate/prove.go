package simulate

import (
	"runtime"
	"slices"
	"sync"

	"github.com/onereply/onereply/turn"
)

// Seeded is a fault that was put in on purpose, and what became of it.
type Seeded struct {
	Fault string   `json:"fault"`          // what was put in
	Check string   `json:"check"`          // the check that is to see it, and does; "": it does not
	Also  []string `json:"also,omitempty"` // those that saw it before that
	Runs  int      `json:"runs"`           // after how many runs
	sites []string // where in the code it was seen
}

// Prove puts each fault in, and says whether the check that is meant for it
// sees it. It gives up on a fault after so many runs.
func Prove(most int) []Seeded {
	faults := seededFaults()
	table := make([]Seeded, len(faults))
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				table[i] = proveOne(faults[i], most)
			}
		})
	}
	for i := range faults {
		next <- i
	}
	close(next)
	group.Wait()
	return table
}

func proveOne(v seededFault, most int) Seeded {
	found := Seeded{Fault: v.name}
	options := v.options()
	for seed := range most {
		w := options.playSeed(uint64(seed) + 1)
		if w.broken == nil {
			continue
		}
		found.sites = append(found.sites, w.broken.site)
		if w.broken.Check == v.check {
			found.Check, found.Runs = v.check, seed+1
			break
		}
		found.Also = append(found.Also, w.broken.Check)
	}
	slices.Sort(found.Also)
	found.Also = slices.Compact(found.Also)
	return found
}

// options are where the fault is looked for.
func (v seededFault) options() Options {
	o := Options{seeded: v}
	if v.calm {
		o.Faults = []string{}
	}
	for _, what := range v.needs {
		o.Faults = append(o.Faults, string(what))
	}
	return o
}

// seededFaults are the faults of the table.
func seededFaults() []seededFault {
	return slices.Concat(coreFaults(), saidFaults(), storeFaults(), runtimeFaults())
}

func coreFaults() []seededFault {
	return []seededFault{
		{name: "the final check reads the version, and commits whatever came", check: "P2 current", step: changeInput(commitUnchecked)},
		{name: "the final check looks for new messages, and not for deletions", check: "P2 current", step: changeInput(deletionsUnchecked)},
		{name: "the nonce of a result is not compared", check: "P5 fenced result", needs: []What{freeze, storeAway, partition}, step: changeInput(resultsNotFenced)},
		{name: "the nonce of a renewal is not compared", check: "P5 renewal", step: changeInput(renewalsNotFenced)},
		{name: "the nonce of a send's result is not compared", check: "P5 outlived", needs: []What{sendSlow, storeAway, storeSlow, partition}, step: changeInput(sendsNotFenced)},
		{name: "a lease is ignored", check: "P5 lease", step: changeInput(leaseIgnored)},
		{name: "an early wake-up acts", check: "P2 due", step: changeInput(earlyWakeActs)},
		{name: "there is no hard cap", check: "P3 hard cap", step: changePolicy(noHardCap)},
		{name: "the hard cap counts from the discard", check: "P3 hard cap", step: changeInput(capFromDiscard)},
		{name: "the hard cap starts anew with each input after a discard", check: "P3 hard cap", step: changeInput(capRestarted)},
		{name: "an early attempt is committed before its window ends", check: "P2 due", step: changeInput(earlyCommits)},
		{name: "early attempts have no bound", check: "P3 early", step: changePolicy(earlyUnbounded)},
		{name: "the bound on discards is never reached", check: "P3 bound", step: changePolicy(boundNeverReached)},
		{name: "a reply is sent for what it saw before the bound is reached", check: "P2 late", step: changePolicy(boundAtOnce)},
		{name: "a send that timed out counts as failed", check: "P7 once", step: changeInput(timeoutIsFailure)},
		{name: "the lease is not given back", check: "turn.Check", step: changeDecision(leaseKept)},
		{name: "an edit does not raise the version", check: "P4 version", step: changeDecision(editDoesNotBump)},
		{name: "an input does not restart the quiet time", check: "P2 due", step: changeDecision(quietNotRestarted)},
		{name: "a reply is withdrawn after an unknown send", check: "P1 one reply", step: changeInput(withdrawnAfterUnknown)},
		{name: "a part that failed for certain counts as sent", check: "P7 fate", step: changeInput(failedIsSent)},
		{name: "the next part is sent although one before it failed", check: "P7 order", needs: []What{sendFails}, step: changeInput(nextAfterFailed)},
		{name: "the pause between parts is not kept", check: "P7 pace", calm: true, step: changeEvent(partsNotPaced)},
		{name: "a pause does not keep attempts from starting", check: "P2 pause", step: changeInput(pauseIgnored)},
		{name: "a seal is forgotten", check: "P2 seal", needs: []What{modelSeals}, step: changeInput(sealForgotten)},
		{name: "the end of a turn goes idle without looking for newer input", check: "P3 stranded", step: changeDecision(idleUnseen)},
		{name: "an attempt that brings its worker down is not counted", check: "P3 alone", needs: []What{modelKills}, step: changeInput(lostNotCounted)},
		{name: "a lone attempt that brings its worker down is not counted", check: "P3 attempts", needs: []What{modelKills}, step: changeInput(loneNotCounted)},
		{name: "a worker that was lost beside others counts", check: "P3 aside", needs: []What{modelKills}, step: changeInput(besideCounts)},
		{name: "others run beside a lone attempt", check: "P3 alone", needs: []What{modelKills}, step: changeEvent(alwaysLone)},
		{name: "the pause before a lone attempt does not grow", check: "P3 calm", needs: []What{modelKills}, step: changeInput(pauseStays)},
		{name: "a wake-up starts an attempt under a pause", check: "P2 pause", step: pauseStartsAttempts},
		{name: "the next part of a reply goes out under a pause", check: "P7 pause", needs: []What{sendSlow}, step: changeInput(pauseEndsWithPart), flaws: flaws{partUnderPause: true}},
		{name: "a message marks a reply of unknown fate as sent", check: "P7 once", needs: []What{sendUnsureNo}, step: changeDecision(messageMarksAsSent)},
		{name: "what a person writes overtakes a reply that is tried again", check: "P7 order", needs: []What{sendFails}, step: changeDecision(humanGoesFirst)},
		{name: "what became of a reply is not written down", check: "P7 fate", step: changeDecision(endUnmarked)},
		{name: "a discard backs off like a failure", check: "P3 waiting", calm: true, step: changeDecision(discardBacksOff)},
		{name: "a rest is longer than a minute", check: "P3 hard cap", step: changeDecision(discardRestsLonger)},
		{name: "messages are closed instead of answered", check: "P3 closed", step: changeDecision(closedInstead)},
		{name: "messages are set aside after a reply", check: "P3 aside", calm: true, step: changeDecision(asideInstead)},
		{name: "the next message forgets what was set aside", check: "P3 aside", needs: []What{modelKills}, step: changeDecision(asideForgotten)},
		{name: "a reply that failed is said to be sent in part", check: "P7 fate", needs: []What{sendRefused}, step: marked(turn.ReplyFailed, turn.ReplyPartial)},
		{name: "a reply that was refused is said to be sent, and models have no history", check: "P7 fate", needs: []What{sendRefused}, step: marked(turn.ReplyFailed, turn.ReplySent), flaws: flaws{historyEmpty: true}},
		{name: "a reply of unknown fate is said to have failed", check: "P7 withdrawn", needs: []What{sendUnsureYes}, step: marked(turn.ReplyUnknown, turn.ReplyFailed)},
		{name: "a reply that was withdrawn settles what it answers", check: "P3 answered", needs: []What{sendFails, sendRefused}, step: changeDecision(unansweredSettles)},
		{name: "an edit is acknowledged, and dropped", check: "P4 lost", step: dropped[turn.Edit](turn.Queued, turn.Generating)},
		{name: "a deletion is acknowledged, and dropped", check: "P4 lost", step: dropped[turn.Delete](turn.Queued, turn.Generating)},
		{name: "a change of what a reply on its way answers is dropped after a person's reply", check: "P4 change", step: onTheWayDropped},
		{name: "a stop word closes what a reply on its way covers", check: "P1 covers", step: changeDecision(coveredClosed)},
		{name: "a pause is acknowledged, and dropped", check: "P4 lost", step: dropped[turn.Pause](turn.Done, turn.Generating)},
		{name: "a resume is acknowledged, and dropped", check: "P4 lost", step: dropped[turn.Resume](turn.Done, turn.Collecting)},
		{name: "a requeue is acknowledged, and dropped", check: "P4 lost", needs: []What{modelRejects, modelFails}, step: dropped[turn.Requeue](turn.Done, turn.Failed)},
		{name: "a flush is acknowledged, and dropped", check: "P4 lost", step: dropped[turn.Flush](turn.Done, turn.Collecting)},
		{name: "a seal is acknowledged, and dropped", check: "P4 lost", needs: []What{modelSeals}, step: dropped[turn.Seal](turn.Done, turn.Generating)},
		{name: "a reply is said to be sent again, and is not", check: "P4 lost", needs: []What{sendUnsureNo}, step: dropped[turn.Resend](turn.Done, "")},
		{name: "a reply is said to be marked as sent, and is not", check: "P4 lost", needs: []What{sendUnsureNo}, step: dropped[turn.MarkSent](turn.Done, "")},
		{name: "a report of the channel is acknowledged, and dropped", check: "P7 report", step: dropped[turn.Report](turn.Done, "")},
		{name: "a report of a failure outweighs one of a delivery", check: "P7 report", step: changeEvent(oldReportsCount)},
		{name: "a message pauses the conversation", check: "P2 pause", step: changeDecision(pausedByItself)},
		{name: "a seal under an earlier lease counts", check: "P5 fenced", needs: []What{modelSeals, modelFails}, step: changeInput(oldSealsCount)},
		{name: "the last part of a reply is never sent", check: "P7 sent", step: changeInput(lastPartDropped)},
		{name: "a reply that is sent again begins with its first part", check: "P7 once", needs: []What{sendUnsureNo, sendRefused}, step: changeDecision(againFromTheStart)},
		{name: "a call of the model does not count what was used up before", check: "budget", calm: true, step: changeInput(spentForgotten)},
		{name: "an outage of the model uses up attempts", check: "P3 failed", needs: []What{modelOut}, step: changeEvent(outagesUseUp)},
		{name: "a send that failed is not tried again", check: "P3 failed", needs: []What{sendFails}, step: changeInput(triedOnce)},
		{name: "a reply says that it is late, and is not", check: "P2 late", step: changeDecision(lateAfterDiscards)},
		{name: "a reply that is withdrawn takes the receiver's pause with it", check: "P7 receiver", needs: []What{sendPauses}, step: changeDecision(pauseWithdrawn)},
		{name: "the model is told what was said before a reset", check: "P2 fresh", calm: true, step: changeDecision(resetForgotten)},
		{name: "turns are counted anew after a reset", check: "P7 id", calm: true, step: changeDecision(turnsAnew)},
		{name: "a long silence ends no talk", check: "P2 fresh", calm: true, step: changeInput(silenceUnseen)},
		{name: "each short silence ends the talk", check: "P2 fresh", calm: true, step: changePolicy(endsEachTalk)},
		{name: "the end of a turn is not told after a deletion", check: "P3 ended", step: changeDecision(endUntold)},
		{name: "the message before the refused one is set aside", check: "P3 aside", needs: []What{modelRefuses}, step: changeDecision(neighbourAside)},
		{name: "each refusal begins the search again", check: "P3 calls", needs: []What{modelRefuses}, step: changeDecision(searchBegunAgain)},
		{name: "what was set aside is closed like any other message", check: "P3 history", needs: []What{modelRefuses}, step: changeDecision(dismissedIsClosed)},
		{name: "the answer to a probe is committed as the reply", check: "P2 current", needs: []What{modelRefuses}, step: changeInput(partIsReply)},
		{name: "a name is said to lead to a conversation, and does not", check: "P1 names", calm: true, step: dropped[turn.LeadName](turn.Done, "")},
		{name: "a conversation forgets a name that leads to it", check: "P4 lost", calm: true, step: dropped[turn.AdoptName](turn.Done, "")},
		{name: "an edit that comes before its message is not kept", check: "P4 newest", step: changeDecision(earlyForgotten)},
		{name: "people are told again each time somebody looks", check: "P3 sign", step: changeInput(toldAgain)},
		{name: "a reply with an id is given twice", check: "P4 twice", step: changeEvent(claimsNoID)},
		{name: "a notification closes what waits", check: "P3 answered", step: changeEvent(closesAll)},
		{name: "a reply that was sent elsewhere is sent again", check: "P7 elsewhere", step: changeEvent(sendsAll)},
		{name: "a pause that is to end never does", check: "P3 pause", step: changeDecision(pauseForGood)},
		{name: "a stop word closes what others have waiting", check: "P3 closed", step: changeDecision(closesEverybody)},
		{name: "the next part of a reply goes out after a person has said something", check: "P7 cut", step: changeInput(cutForgotten)},
		{name: "any number of bytes may wait", check: "P4 bytes", calm: true, step: changePolicy(bytesUnbounded)},
		{name: "a prompt has any number of bytes", check: "P4 bytes", calm: true, flaws: flaws{promptUnbounded: true}},
		{name: "a prompt that is too large is cut to its first message", check: "P2 part", calm: true, step: changePolicy(promptOfOne)},
		{name: "a deletion leaves its bytes behind", check: "P4 bytes", calm: true, step: changeEvent(bytesStay)},
		{name: "attachments are not waited for", check: "P2 due", step: changeEvent(mediaIgnored)},
		{name: "context is answered", check: "P2 context", calm: true, step: changeEvent(contextAnswered)},
		{name: "the edit of a settled message counts as an input", check: "P4 version", step: changeDecision(settledCounted)},
		{name: "a message that is not meant for the bot is answered", check: "P2 context", calm: true, step: changeEvent(unaddressedAnswered)},
		{name: "a message that is not meant for the bot is kept by one that observes nothing", check: "P2 context", calm: true, step: changePolicy(alwaysObserves)},
		{name: "a message that comes too late is answered", check: "P2 context", calm: true, step: changePolicy(noAge)},
		{name: "other bots are answered without end", check: "P3 bots", calm: true, step: changePolicy(botsWithoutEnd)},
		{name: "other bots are answered where none is to be", check: "P3 bots", calm: true, step: changePolicy(botsLetIn)},
		{name: "context counts as an input", check: "P4 version", calm: true, step: changeDecision(contextCounted)},
	}
}

// saidFaults are in words, in silence, and in texts that stand in for a reply.
func saidFaults() []seededFault {
	return []seededFault{
		{name: "a reply of nothing counts as a failure", check: "P3 failed", needs: []What{modelSilent}, step: changeInput(silenceFails)},
		{name: "a reply of nothing leaves its messages waiting", check: "P3 stranded", needs: []What{modelSilent}, step: changeDecision(silenceSettlesNothing)},
		{name: "a reply of nothing ends no turn", check: "P3 ended", needs: []What{modelSilent}, step: changeDecision(silenceUntold)},
		{name: "a reply of nothing answers its messages", check: "P3 answered", needs: []What{modelSilent}, step: changeDecision(silenceAnswers)},
		{name: "a reply of nothing is committed whatever came", check: "P2 late", needs: []What{modelSilent}, step: changeInput(silenceUnchecked)},
		{name: "an opt-out word pauses nothing", check: "P4 lost", calm: true, step: changeEvent(optOutIgnored)},
		{name: "an opt-in word ends nothing", check: "P4 lost", calm: true, step: dropped[turn.OptIn](turn.Done, "")},
		{name: "an opt-in word ends the pause that people made", check: "P2 hold", calm: true, step: changeInput(optInResumes)},
		{name: "the end of a pause ends an opt-out too", check: "P2 hold", calm: true, step: changeInput(endEndsOptOut)},
		{name: "a pause that comes with a reply is forgotten", check: "P4 lost", calm: true, step: changeEvent(silenceOfReplyForgotten)},
		{name: "a pause after a reply makes a longer one shorter", check: "P2 hold", calm: true, step: changeDecision(pauseShortened)},
		{name: "a reset is acknowledged, and dropped", check: "P2 fresh", calm: true, step: dropped[turn.Reset](turn.Done, "")},
		{name: "a reset word closes itself, and not what waited before it", check: "P3 settled", calm: true, step: changeDecision(resetWordAlone)},
		{name: "the talk goes on after a reset word", check: "P2 fresh", calm: true, step: changeInput(resetByWordOnly)},
		{name: "a stop word closes itself, and not what its sender has waiting", check: "P3 settled", calm: true, step: changeEvent(stopsItself)},
		{name: "a stop word cuts what others wait for", check: "P7 cut", calm: true, step: changeEvent(stopsShared)},
		{name: "a reply to a part of what waits settles all of it", check: "P3 answered", needs: []What{modelCramped}, step: changeDecision(partSettlesAll)},
		{name: "a reply to a part of what waits does not say that it is late", check: "P2 current", needs: []What{modelCramped}, step: changeDecision(partNotLate)},
		{name: "each failure sends the text that stands in", check: "P3 notice", needs: []What{modelRejects, modelRefuses}, step: changeInput(standsInAgain)},
		{name: "people are told at once that it takes longer", check: "P3 sign", calm: true, step: changePolicy(toldAtOnce)},
		{name: "the edit of a settled message is acknowledged, and dropped", check: "P4 lost", calm: true, step: dropped[turn.SettledChanged](turn.Recorded, "")},
		{name: "a name is said to be taken away, and is not", check: "P4 names", step: dropped[turn.DropName](turn.Done, "")},
		{name: "a name is said to be free, and is not", check: "P4 names", calm: true, step: dropped[turn.FreeName](turn.Done, "")},
	}
}

func storeFaults() []seededFault {
	return []seededFault{
		{name: "a plain write instead of the compare-and-swap", check: "P4 version", flaws: flaws{plainWrites: true}},
		{name: "a write over the record that a conflict named is not compared", check: "P4 version", needs: []What{staleConflict}, flaws: flaws{hintUnchecked: true}},
		{name: "what a conflict says of an alias is taken for an empty conversation", check: "P1 names", calm: true, flaws: flaws{aliasHidden: true}},
		{name: "ids are claimed for each name of a conversation", check: "P4 lost", calm: true, flaws: flaws{idsOfName: true}},
		{name: "a write that guesses that there is no record is not compared", check: "P4 store", flaws: flaws{guessUnchecked: true}},
		{name: "a request is applied once more after a conflict", check: "P4 version", flaws: flaws{appliedTwice: true}},
		{name: "a conflict says of a new id that it was claimed before", check: "P4 lost", flaws: flaws{claimedByNobody: true}},
		{name: "going idle without a swap", check: "P4 version", flaws: flaws{idleUnchecked: true}},
		{name: "a renewal overwrites newer input", check: "P4 version", flaws: flaws{renewUnchecked: true}},
		{name: "the end of a turn deletes the timer", check: "P6 timer", flaws: flaws{timerOverwritten: true}},
		{name: "a wake-up that lost the race deletes the timer", check: "P3 rest", needs: []What{crash}, flaws: flaws{staleFireClears: true}},
		{name: "the end of a turn settles whatever waits", check: "P3 answered", flaws: flaws{settlesAll: true}},
		{name: "a claim that dies never comes back", check: "P3 rest", needs: []What{readFails}, flaws: flaws{claimsAreLost: true}},
		{name: "nobody looks for timers of lost workers", check: "P3 rest", flaws: flaws{noClaims: true}},
		{name: "a repeated id is found after the version grew", check: "P4 version", flaws: flaws{dedupeAfterBump: true}},
		{name: "the last timer is not cleared", check: "P6 timer", flaws: flaws{timerStays: true}},
		{name: "a deletion takes another conversation with it", check: "P4 lost", calm: true, flaws: flaws{deletesAnother: true}},
		{name: "the second message of a batch gets the text of the first", check: "P4 lost", flaws: flaws{textsMixed: true}},
		{name: "a message that was deleted comes back", check: "P4 deleted", flaws: flaws{deletedComesBack: true}},
		{name: "ids are claimed for all conversations of a bot", check: "P4 lost", flaws: flaws{idsOfBot: true}},
		{name: "ids stay claimed after the conversation is deleted", check: "P4 lost", calm: true, flaws: flaws{idsStay: true}},
		{name: "the timer of a lease is set 20 s late", check: "P6 timer", flaws: flaws{leaseTimerLate: true}},
		{name: "a lone attempt begins on a process that was just started", check: "P3 calm", needs: []What{modelKills}, flaws: flaws{calmAtOnce: true}},
		{name: "timers of lost workers are found two minutes late", check: "P3 waiting", needs: []What{crash, freeze}, flaws: flaws{claimsLate: true}},
		{name: "a message that was erased leaves its text in the store", check: "P4 erased", flaws: flaws{erasedStays: true}},
		{name: "a deletion that comes before its message claims no id", check: "P4 deleted", flaws: flaws{claimsForgotten: true}},
		{name: "an older edit wins over a newer one that came before it", check: "P4 newest", flaws: flaws{editsUndated: true}},
		{name: "a batch gives one sequence to two entries", check: "P4 store", flaws: flaws{refused: true}},
	}
}

func runtimeFaults() []seededFault {
	return []seededFault{
		{name: "the model is told of replies that nobody saw", check: "P7 fate", needs: []What{sendRefused, sendUnsureNo}, flaws: flaws{historyTellsAll: true}},
		{name: "the model is not told of what nobody answered", check: "P2 told", calm: true, flaws: flaws{historyHidesClosed: true}},
		{name: "the model is told of messages that were erased", check: "P4 deleted", flaws: flaws{historyTellsErased: true}},
		{name: "what a reply covers is computed at its commit", check: "P1 covers", flaws: flaws{coversAtCommit: true}},
		{name: "the prompt is read after the version", check: "P1 covers", flaws: flaws{promptReadLate: true}},
		{name: "a holder that lost its lease goes on", check: "P5 single flight", needs: []What{partition, modelHangs}, flaws: flaws{stopsIgnored: true}},
		{name: "timers fire a minute late", check: "P5 single flight", flaws: flaws{ticksLate: true}},
		{name: "leases by the local wall clock", check: "P5 lease", flaws: flaws{wallClock: true}},
		{name: "a write of unknown outcome is taken for applied", check: "P4 lost", flaws: flaws{unknownIsApplied: true}},
		{name: "the id of the operation is ignored", check: "P1 one reply", needs: []What{unknownKept}, flaws: flaws{opIgnored: true}},
		{name: "the message is acknowledged before it is written", check: "P4 lost", flaws: flaws{ackBeforeWrite: true}},
		{name: "a send is not fenced", check: "P5 fenced send", flaws: flaws{sendsWait: true}},
		{name: "the deadline of a send is ignored", check: "P5 outlived", needs: []What{sendSlow, partition}, flaws: flaws{deadlineIgnored: true}},
		{name: "an unknown send is tried again at once", check: "P7 once", needs: []What{sendUnsureYes}, flaws: flaws{retriesBlindly: true}},
		{name: "the id of a reply names the attempt", check: "P1 one reply", flaws: flaws{attemptID: true}},
		{name: "timers fire again and again", check: "P3 rest", flaws: flaws{ticksWithoutEnd: true}},
		{name: "who repeats a message is never answered", check: "P3 rest", calm: true, flaws: flaws{answersLost: true}},
		{name: "a reply by hand is acknowledged before it is written", check: "P4 lost", needs: []What{crash, storeSlow}, flaws: flaws{saysBeforeWrite: true}},
		{name: "a send that timed out is reported as one that failed for certain", check: "P7 once", needs: []What{sendUnsureYes}, flaws: flaws{timeoutIsCertain: true}},
		{name: "a platform is told that messages are done before they are stored", check: "P4 polled", calm: true, flaws: flaws{doneBeforeStored: true}},
		{name: "a duty that another node has is taken", check: "P5 duty", calm: true, step: changeInput(dutyTaken)},
		{name: "the duty of a process that is gone never ends", check: "P3 polled", needs: []What{crash}, step: changeInput(dutyForEver)},
		{name: "a pause for the whole bot is reported as one for a conversation", check: "P7 receiver", needs: []What{sendPauses}, flaws: flaws{pauseOfOne: true}},
	}
}
