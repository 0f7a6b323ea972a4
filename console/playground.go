package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed web
var files embed.FS

// policy lets the page run its own scripts and styles and talk to its own
// server, and nothing else: text from a conversation can't become code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Playground serves the playground: a chat with a bot, and beside it what
// happens, live. The page is at "/" and its files are under "/assets/"; other
// paths are not found. It uses the bot that the query parameter "bot" names,
// else "demo", and the conversation that the URL's fragment names, else a new
// one. The API is expected under "/v1/" of the same origin.
//
// The handler is safe for concurrent use and keeps no state.
func Playground() http.Handler {
	return site(read(files, "web"))
}

// file is one embedded file, ready to be sent.
type file struct {
	content     []byte
	contentType string
	entityTag   string
}

// site maps URL paths to files.
type site map[string]file

// ServeHTTP sends the file, or 304 where the browser has it already.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are allowed here", http.StatusMethodNotAllowed)
		return
	}
	f, found := s[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("ETag", f.entityTag)
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

// read makes a site of the files under root. It panics where that fails, which
// can't happen in a program that was built.
func read(from fs.FS, root string) site {
	s := site{}
	err := fs.WalkDir(from, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		s[address(name[len(root):])] = newFile(name, content)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("console: read the embedded files: %v", err))
	}
	return s
}

// address is the URL path of a file.
func address(name string) string {
	if path.Base(name) == "index.html" {
		return name[:len(name)-len("index.html")]
	}
	return name
}

func newFile(name string, content []byte) file {
	sum := sha256.Sum256(content)
	return file{
		content:     content,
		contentType: contentType(path.Ext(name)),
		entityTag:   `"` + hex.EncodeToString(sum[:8]) + `"`,
	}
}

// contentType does not ask the mime package, because that reads tables of the
// machine it runs on.
func contentType(extension string) string {
	switch extension {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
