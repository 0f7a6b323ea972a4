package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// This file has the readings of single values. Each works in this order: it takes the key
// from the section, which marks the key as known; it looks at the kind of the YAML node;
// it puts in the environment; it checks the bounds; and only then it changes the variable
// of the caller. So the caller sets the default first, and the default stays where the
// key is absent. The result tells whether there was a good value. A caller looks at it
// only where another rule builds on the value.

// scalar is a single value: a text, a number or a boolean, with variables of the
// environment replaced. A number in quotes, or from a variable, is a text here, and count
// and duration read the number from it.
type scalar struct {
	text    string
	source  string // the text in the file. Problems show this one: a variable may hold a secret
	written bool   // as a text, not as a number or a boolean
}

// scalar reads v as a single value. wanted names the kind of value for a problem. It
// reports false, and the problem, if v is a mapping or a list, or names a variable that
// is not set. A text may have any style of YAML: plain, quoted, or a block that begins
// with | or >.
func (r *reader) scalar(v value, wanted string) (scalar, bool) {
	var text string
	switch node := v.node.(type) {
	case *ast.StringNode:
		text = node.Value
	case *ast.LiteralNode:
		text = node.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		number := node.GetToken().Value
		return scalar{text: number, source: number}, true
	default:
		r.report(v.place, "must be %s, it is %s", wanted, describe(v.node))
		return scalar{}, false
	}
	source := text
	text, err := expand(source, r.lookup)
	if err != nil {
		r.report(v.place, "%s", err)
		return scalar{}, false
	}
	return scalar{text: text, source: source, written: true}, true
}

// plainText reads v as a text. A number without quotes is refused: YAML would turn 007
// into 7 and 1e3 into 1000. An operator who writes such a name means its digits. The
// problem does not show them: it may be a key.
func (r *reader) plainText(v value) (string, bool) {
	found, ok := r.scalar(v, "a text")
	if ok && !found.written {
		r.report(v.place, "must be a text: put it in quotes")
		return "", false
	}
	return found.text, ok
}

// text reads a key as a text. If the key is absent, into keeps its value. It reports
// whether there was a text. An empty text is a text; a check refuses it where it makes no
// sense.
func (s *section) text(key string, into *string) bool {
	v, ok := s.take(key)
	if !ok {
		return false
	}
	text, ok := s.plainText(v)
	if ok {
		*into = text
	}
	return ok
}

// texts reads a key as a list of texts, and calls check for each. All elements are
// checked. An empty list is allowed, and means none.
func (s *section) texts(key string, into *[]string, check func(at place, text string)) {
	for _, v := range s.list(key, "a list, such as [one, two]") {
		if text, ok := s.plainText(v); ok {
			check(v.place, text)
			*into = append(*into, text)
		}
	}
}

// list reads a key as a list, whose elements the caller reads. The place of each has its
// number, from 0. form says what is needed, for the problem with another value.
func (s *section) list(key, form string) []value {
	v, ok := s.take(key)
	if !ok {
		return nil
	}
	list, ok := v.node.(*ast.SequenceNode)
	if !ok {
		s.report(v.place, "must be %s, it is %s", form, describe(v.node))
		return nil
	}
	elements := make([]value, len(list.Values))
	for i, node := range list.Values {
		elements[i] = value{place{v.path + "[" + strconv.Itoa(i) + "]", tokenOf(node, v.token)}, node}
	}
	return elements
}

// oneOf reads a key as one of some words. It suggests the nearest word for a misspelt
// one. Capital letters count: the words are values, and are written as in the
// documentation. A number or a boolean is compared as it is written.
func (s *section) oneOf(key string, into *string, words ...string) bool {
	v, ok := s.take(key)
	if !ok {
		return false
	}
	found, ok := s.scalar(v, alternatives(words))
	if !ok {
		return false
	}
	for _, w := range words {
		if w == found.text {
			*into = w
			return true
		}
	}
	s.report(v.place, "must be %s, it is %q%s", alternatives(words), found.source, didYouMean(found.text, words))
	return false
}

// boolean reads a key as true or false. Other words of YAML for these, such as yes, are
// texts and refused.
func (s *section) boolean(key string, into *bool) bool {
	word := ""
	if !s.oneOf(key, &word, "true", "false") {
		return false
	}
	*into = word == "true"
	return true
}

// count reads a key as a whole number from least to most. Both bounds are allowed values.
// A fraction is refused and not rounded.
func (s *section) count(key string, into *int, least, most int) bool {
	v, ok := s.take(key)
	if !ok {
		return false
	}
	found, ok := s.scalar(v, "a whole number")
	if !ok {
		return false
	}
	n, err := strconv.Atoi(found.text)
	switch {
	case err != nil:
		s.report(v.place, "must be a whole number, it is %q", found.source)
	case n < least:
		s.report(v.place, "must be at least %d, it is %d", least, n)
	case n > most:
		s.report(v.place, "must be at most %d, it is %d", most, n)
	default:
		*into = n
		return true
	}
	return false
}

// units are what may follow a number of bytes.
var units = map[string]int{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// bytes reads a key as a number of bytes within bounds, such as 4MiB or 4194304. If it is
// absent or wrong, into stays as it is.
func (s *section) bytes(key string, into *int, least, most int) bool {
	v, ok := s.take(key)
	if !ok {
		return false
	}
	found, ok := s.scalar(v, "a number of bytes such as 4MiB")
	if !ok {
		return false
	}
	digits := strings.TrimRight(found.text, "KMGiB")
	unit, known := units[found.text[len(digits):]]
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || !known || n < 0:
		s.report(v.place, "must be a number of bytes such as 4MiB or 512KiB, it is %q", found.source)
	case n > most/unit:
		s.report(v.place, "must be at most %d bytes, it is %q", most, found.source)
	case n*unit < least:
		s.report(v.place, "must be at least %d bytes, it is %q", least, found.source)
	default:
		*into = n * unit
		return true
	}
	return false
}

// duration reads a key as a time span of at least least. The unit is demanded: 5 alone
// could be seconds or milliseconds. It must not be negative. If it is absent or wrong,
// into keeps its value.
func (s *section) duration(key string, into *time.Duration, least time.Duration) bool {
	v, ok := s.take(key)
	if !ok {
		return false
	}
	found, ok := s.scalar(v, "a duration such as 1.5s")
	if !ok {
		return false
	}
	d, err := time.ParseDuration(found.text)
	switch {
	case err != nil && isNumber(found.text):
		s.report(v.place, "a duration needs its unit, such as 1.5s or 500ms; %s alone is not clear", found.source)
	case err != nil:
		s.report(v.place, "must be a duration such as 1.5s, 500ms, 2m or 720h, it is %q", found.source)
	case d < 0:
		s.report(v.place, "must not be negative, it is %s", found.source)
	case d < least:
		s.report(v.place, "must be at least %s, it is %s", span(least), found.source)
	default:
		*into = d
		return true
	}
	return false
}

// isNumber tells a duration without its unit from other mistakes, for a better message.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// span is a duration without the zero units that String adds: 1h, not 1h0m0s. So a
// problem has a duration in the form in which people write it.
func span(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// alternatives is "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
