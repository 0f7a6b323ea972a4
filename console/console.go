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
	"regexp"
	"strings"
	"time"
)

//go:embed web
var files embed.FS

// policy is the one content security policy of all pages: their own scripts,
// styles and pictures, and calls to their own server, and nothing else. Text
// from a conversation can't become code, and no form or frame leads elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

// Prefix is the URL path below which [Handler] serves the console.
const Prefix = "/console/"

// Handler serves the console: what all conversations do, what needs a person,
// and each turn as it went. Its page is at "/console/", and its files are below
// that and under "/assets/"; "/console" leads there, and other paths are not
// found. The API is expected under "/v1/" of the same origin, and its sessions
// under "/console/login", "/console/logout" and "/console/session".
//
// The handler is safe for concurrent use and keeps no state.
func Handler() http.Handler {
	return read(files, "web").only(Prefix, assets)
}

// Playground serves the playground: a chat with a bot, and beside it what
// happens, live. The page is at "/" and its files are under "/assets/"; other
// paths are not found. It uses the bot that the query parameter "bot" names,
// else "demo", and the conversation that the URL's fragment names, else a new
// one. The API is expected under "/v1/" of the same origin.
//
// The handler is safe for concurrent use and keeps no state.
func Playground() http.Handler {
	return read(files, "web").only("/"+page, assets)
}

const (
	page   = "index.html"
	assets = "/assets/" // of all pages
)

// file is one embedded file, ready to be sent.
type file struct {
	name        string // below web, from its slash on
	content     []byte
	contentType string
	entityTag   string
}

// site maps URL paths to files.
type site map[string]file

// only keeps the files that are named, or are below a folder that is.
func (s site) only(names ...string) site {
	kept := site{}
	for path, f := range s {
		for _, name := range names {
			if f.name == name || strings.HasSuffix(name, "/") && strings.HasPrefix(f.name, name) {
				kept[path] = f
			}
		}
	}
	return kept
}

// ServeHTTP sends the file, or 304 where the browser has it already.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are allowed here", http.StatusMethodNotAllowed)
		return
	}
	f, found := s[r.URL.Path]
	if !found {
		s.missing(w, r)
		return
	}
	header.Set("Content-Type", f.contentType)
	header.Set("ETag", f.entityTag)
	header.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

// missing leads from a folder's name without its slash to the page in it: the
// page's relative addresses count from there.
func (s site) missing(w http.ResponseWriter, r *http.Request) {
	folder := r.URL.Path + "/"
	if _, found := s[folder]; !found {
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, folder, http.StatusFound)
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
		s[address(name[len(root):])] = newFile(name[len(root):], content)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("console: read the embedded files: %v", err))
	}
	return s
}

// address is the URL path of a file.
func address(name string) string {
	if path.Base(name) == page {
		return name[:len(name)-len(page)]
	}
	return name
}

// comment is a line of a script that is nothing but a comment. No text of the pages
// has a line of its own that looks like one.
var comment = regexp.MustCompile(`(?m)^\s*(//.*|/\*\*.*\*/)\n`)

// newFile leaves out the comments of a script: they are for those who read its source,
// and each page that loads it would carry them.
func newFile(name string, content []byte) file {
	if path.Ext(name) == ".js" {
		content = comment.ReplaceAll(content, nil)
	}
	sum := sha256.Sum256(content)
	return file{
		name:        name,
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
