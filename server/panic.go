package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// panicked is an error made of a handler's panic. The stack goes to the log with it, and
// never to the client.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// isPanic reports whether a handler has panicked.
func isPanic(err error) bool {
	if err == nil {
		return false
	}
	var p *panicked
	return errors.As(err, &p)
}

// recovered runs f and turns a panic into an error. http.ErrAbortHandler is left alone:
// it is how a handler drops a connection. Without it, net/http would drop the connection,
// and neither log line nor metric would name the route.
func recovered(f func() error) (err error) {
	defer func() {
		switch value := recover(); value {
		case nil:
		case http.ErrAbortHandler:
			panic(value)
		default:
			err = &panicked{value: value, stack: debug.Stack()}
		}
	}()
	return f()
}
