package bench

import (
	"sync"
)

// groupLog is the limit for durable acknowledgements: records are appended to
// one file, and all that wait share one write and one fsync. It keeps no order
// but that of arrival, finds nothing again and compares nothing. The blocks of the file are
// in place, and it begins anew at its end, so that a sync need not note that it has grown.
type groupLog struct {
	file zeroFile
	at   int64 // where the next group goes

	mu      sync.Mutex
	waiting []byte
	group   *group // of those whose bytes wait
	wake    chan struct{}
	ended   sync.WaitGroup
}

// groupLogSize is the length of the file: 16 MiB, many times what waits at once.
const groupLogSize = 16 << 20

// group is those who share an fsync.
type group struct {
	done chan struct{} // closed when it is on the disk
	err  error         // valid then
}

func newGroup() *group { return &group{done: make(chan struct{})} }

func openGroupLog(path string) (*groupLog, error) {
	file, err := createZeroFile(path, groupLogSize)
	if err != nil {
		return nil, err
	}
	l := &groupLog{file: file, group: newGroup(), wake: make(chan struct{}, 1)}
	l.ended.Go(l.run)
	return l, nil
}

// append returns when the record is on the disk.
func (l *groupLog) append(record []byte) error {
	l.mu.Lock()
	l.waiting = append(l.waiting, record...)
	group := l.group
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it is awake
	}
	<-group.done
	return group.err
}

func (l *groupLog) run() {
	var bytes []byte
	for range l.wake {
		l.mu.Lock()
		bytes, l.waiting = l.waiting, bytes[:0]
		group := l.group
		l.group = newGroup()
		l.mu.Unlock()
		if l.at+int64(len(bytes)) > groupLogSize {
			l.at = 0
		}
		if _, group.err = l.file.WriteAt(bytes, l.at); group.err == nil {
			group.err = l.file.Sync()
		}
		l.at += int64(len(bytes))
		close(group.done)
	}
}

// close ends the log. Nobody may append any more.
func (l *groupLog) close() error {
	close(l.wake)
	l.ended.Wait()
	return l.file.Close()
}
