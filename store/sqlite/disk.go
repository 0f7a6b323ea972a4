package sqlite

import (
	"context"
	"sync"
)

// disk brings transactions to the disk, one after the other, and knows how far
// it has come. A sync takes about as long as applying a transaction, and neither
// needs the other's processor, so the two go on at the same time: that is the
// pipeline of a group commit.
//
// What is in the log but not on the disk can be read already. That is no harm
// where it leads to another write, which is in the log behind it. What somebody
// is told is another matter: see [disk.reached].
type disk struct {
	// turn holds one token: whoever has it may sync, and touch what is below.
	turn  chan struct{}
	owed  []piece // written, and perhaps not on the disk, because a sync failed
	spare []piece // synced: their buffers can be used again

	mu      sync.Mutex
	visible int64         // transactions that readers may see
	there   int64         // those of them that are on the disk, or never came to be
	moved   chan struct{} // closed, and replaced, when there or failure changes
	failure error         // why owed is not empty
}

func newDisk() *disk { return &disk{turn: make(chan struct{}, 1), moved: make(chan struct{})} }

// begin is called before a transaction becomes visible, and then either fail or
// harden.
func (d *disk) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visible++
}

// fail says that the transaction did not become visible.
func (d *disk) fail() {
	d.turn <- struct{}{}
	defer d.free()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.there++
	d.move()
}

// move is called with the lock held.
func (d *disk) move() {
	close(d.moved)
	d.moved = make(chan struct{})
}

func (d *disk) free() { <-d.turn }

// wait returns when no sync runs.
func (d *disk) wait() {
	d.turn <- struct{}{}
	d.free()
}

// harden waits for the sync before, begins that of what was written since, and
// calls done with its outcome from another goroutine.
func (d *disk) harden(log *logFile, done func(error)) {
	d.turn <- struct{}{}
	log.giveBack(d.spare)
	d.spare = nil
	written := log.take()
	go func() {
		defer d.free()
		done(d.synced(log, written))
	}()
}

// synced syncs what was written. Behind a sync that failed nothing counts
// until that is made good: what comes later rests on it.
func (d *disk) synced(log *logFile, written []piece) error {
	err := d.failed()
	if err == nil && len(written) > 0 {
		err = log.sync()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.there++
	if err == nil {
		d.spare = written
	} else {
		d.owed = append(d.owed, written...)
		d.failure = err
	}
	d.move()
	if err != nil {
		return unknown(err)
	}
	return nil
}

func (d *disk) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// heal makes good what a failed sync has left, through a log that is open.
func (d *disk) heal(log *logFile) error {
	if d.failed() == nil {
		return nil
	}
	d.turn <- struct{}{}
	defer d.free()
	if err := log.repeat(d.owed); err != nil {
		return err
	}
	d.owed = nil
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = nil
	d.move()
	return nil
}

// reached waits until all that can be read now is on the disk. It is for reads
// that settle what became of a write: somebody is told that it is durable.
func (d *disk) reached(ctx context.Context) error {
	d.mu.Lock()
	target := d.visible
	for d.failure == nil && d.there < target {
		moved := d.moved
		d.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
		d.mu.Lock()
	}
	defer d.mu.Unlock()
	return d.failure
}
