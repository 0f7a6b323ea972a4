package config

import "github.com/goccy/go-yaml/token"

// maxDepth bounds the nesting of [ and {, before the YAML is parsed: the parser recurses,
// and a deeply nested file would exhaust the stack. A configuration is never deep. The
// limit is far below the depth that harms the parser.
const maxDepth = 1000

// tooDeep finds the bracket that goes beyond maxDepth. It counts brackets in texts and
// comments too, where hardly anybody opens so many and closes none. Closing brackets
// without an opening one are left to the parser. The column counts bytes.
func tooDeep(data []byte) (token.Position, bool) {
	at, depth := token.Position{Line: 1}, 0
	for _, c := range data {
		at.Column++
		switch c {
		case '\n':
			at.Line, at.Column = at.Line+1, 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxDepth {
			return at, true
		}
	}
	return token.Position{}, false
}
