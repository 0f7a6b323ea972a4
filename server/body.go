package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBodyBytes bounds a request's body. It is 1 MiB: about five times a message whose
// parts are all at their limits, since JSON may write a character as six, and little
// enough for many requests at once.
const maxBodyBytes = 1 << 20

// decode reads the JSON object of the request's body into value. The steps: the announced
// length, the bytes, their type, UTF-8, and the JSON. Each failure is a problem of its
// own, so that a person sees at which of them to look.
func decode(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return newProblem(kindMalformedBody, "The body is empty; send a JSON object.")
	}
	return parse(body, value)
}

// decodeOptional is decode for calls whose body may be empty.
func decodeOptional(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := readBody(w, r)
	if err != nil || len(body) == 0 {
		return err
	}
	return parse(body, value)
}

// readBody reads the whole body, within the limits of size and time. A body that is
// shorter than announced is refused: it may be valid JSON by chance.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBodyBytes {
		return nil, errTooLarge()
	}
	if r.Body == nil { // net/http gives every request one; a caller within this program may not
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil && int64(len(body)) < r.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, errReading(err)
	}
	// The deadline was for the body, which is here. net/http goes on reading, to notice a
	// client that hangs up. If the deadline stayed, its end would look like a hang-up.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if len(body) > 0 && !isJSON(r.Header.Get("Content-Type")) {
		return nil, newProblem(kindMediaType, "Send the body with Content-Type: application/json.")
	}
	return body, nil
}

// errTooLarge is the problem of a body over the limit, by its announced length or by the
// bytes that came.
func errTooLarge() error {
	return newProblem(kindBodyTooLarge, "The body may have at most %d bytes.", maxBodyBytes)
}

// errReading tells three failures apart: too much, too slow, and a client that broke
// off.
func errReading(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newProblem(kindBodyTimeout, "Send the whole body at once.")
	}
	p := newProblem(kindMalformedBody, "The body ended too early.")
	p.cause = err
	return p
}

// isJSON accepts JSON, types that are built on it, no type at all, and the type that
// `curl -d` sends by default: people type JSON there. A form on a page of another site
// has that type too, but its origin was refused before its body is read. A missing type
// is taken for JSON, because there is nothing else that a body could be here.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" { // nearly every request: parsing it would cost more than the rest of this file
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return mediaType == "application/json" || mediaType == "application/x-www-form-urlencoded" || strings.HasSuffix(mediaType, "+json")
}

// parse reads one JSON object. Unknown fields are ignored: providers add their own. After
// a wrong-type problem the other fields of value are set. Only an object is taken: null
// would leave every field at its zero value, and look like an object without fields.
func parse(body []byte, value any) error {
	if !utf8.Valid(body) {
		return newProblem(kindMalformedBody, "The body is not valid UTF-8.")
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return newProblem(kindMalformedBody, "The body must be one JSON object.")
	}
	err := json.Unmarshal(body, value)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		p := newProblem(kindWrongType, "It must be %s; it is a JSON %s.", jsonType(wrong.Type), wrong.Value)
		p.field = wrong.Field
		return p
	}
	return newProblem(kindMalformedBody, "The body must be one JSON object: %v.", err)
}

// jsonType says in the words of JSON what fills a field of a Go type. All numbers that a
// request may have are whole.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct:
		return "an object"
	}
	return "a whole number"
}
