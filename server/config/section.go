package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// The YAML tree is read by hand, and not decoded into structs: each problem needs its
// path and its line, and the reading must go on after a problem to find the next one.

// reader collects the problems of one configuration. All reading goes on after a problem;
// a key at fault keeps its default, which nobody sees, because [Parse] returns no
// configuration then.
type reader struct {
	file     string
	lookup   Lookup
	problems Problems

	mentioned []mention // bots that are named before they are read
}

// report adds a problem. Where the place is not known, it has no line. The file's name
// comes with each, so that the text of one problem can stand alone.
func (r *reader) report(at place, format string, args ...any) {
	problem := Problem{File: r.file, Path: at.path, Message: fmt.Sprintf(format, args...)}
	if at.token != nil && at.token.Position != nil {
		problem.Line, problem.Column = at.token.Position.Line, at.token.Position.Column
	}
	r.problems = append(r.problems, problem)
}

// place is where something stands in the file. Where the file has nothing at that place,
// such as for a missing key, the token is that of the section around it, so that a line
// can be named all the same.
type place struct {
	path  string
	token *token.Token
}

// value is a YAML value and where it stands.
type value struct {
	place
	node ast.Node
}

// section is a mapping whose keys are read one by one. Each reading marks its key as
// known, and close reports the keys that are not. The order of the file is kept: bots are
// listed in it, and problems too. Known keys are those that were asked for so far, so
// close must come last, and the list of known keys needs no second place where it could
// be forgotten.
type section struct {
	*reader
	place
	values map[string]value
	keys   map[string]place
	order  []string
	known  []string
}

// section reads v as a mapping. It reports false, and the problem, if v is none. The
// parser may give a mapping of a single pair as the pair itself.
func (r *reader) section(v value) (*section, bool) {
	var pairs []*ast.MappingValueNode
	switch node := v.node.(type) {
	case *ast.MappingNode:
		pairs = node.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{node}
	default:
		r.report(v.place, "must be a mapping of keys to values, it is %s", describe(v.node))
		return nil, false
	}
	s := &section{reader: r, place: v.place, values: map[string]value{}, keys: map[string]place{}}
	for _, pair := range pairs {
		s.add(pair)
	}
	return s, true
}

// add takes in one pair of the mapping. A key that is there twice is reported, and the
// first one counts. YAML forbids this, and programs differ in which of the two they take.
func (s *section) add(pair *ast.MappingValueNode) {
	name, ok := keyOf(pair.Key)
	at := place{path: join(s.path, name), token: pair.Key.GetToken()}
	if !ok {
		s.report(place{s.path, at.token}, "a key must be a plain word or a quoted text")
		return
	}
	if first, again := s.keys[name]; again {
		s.report(at, "this key is there twice; the first one is in line %d", first.token.Position.Line)
		return
	}
	s.keys[name] = at
	s.order = append(s.order, name)
	s.values[name] = value{place: place{at.path, tokenOf(pair.Value, at.token)}, node: pair.Value}
}

// take is the value of a key. It reports false if there is none; a key without a value is
// a problem too, since nobody can tell whether it was meant to be empty. The key counts
// as known even if it is absent, so that it can be suggested for a misspelt one. Every
// reading of a key begins with it.
func (s *section) take(key string) (value, bool) {
	s.known = append(s.known, key)
	v, ok := s.values[key]
	if ok && isNull(v.node) {
		s.report(s.keys[key], "has no value; give it one, or remove the key")
		return value{}, false
	}
	return v, ok
}

// has reports whether the key is there, with a value or without. A key without a value
// counts: somebody has tried to set it.
func (s *section) has(key string) bool {
	_, ok := s.keys[key]
	return ok
}

// at is the place of a key's value, or that of the section if the key is absent. It never
// fails: a problem must be told even if its place is vague.
func (s *section) at(key string) place {
	if v, ok := s.values[key]; ok {
		return v.place
	}
	return place{join(s.path, key), s.token}
}

// missing reports a key that must be there and is absent. A key without a value is not
// missing: take has told that problem. The caller says in the format what the key is for,
// or gives an example of its value.
func (s *section) missing(key, format string, args ...any) {
	if !s.has(key) {
		s.report(s.at(key), "is missing; "+format, args...)
	}
}

// foreign reports keys that belong to other kinds, the owners, than the kind of this
// section. They are taken out of the order, or close would report them once more, as
// unknown. The text names the kinds that do have the key.
func (s *section) foreign(kind string, owners []string, keys ...string) {
	for _, key := range keys {
		if at, ok := s.keys[key]; ok {
			s.report(at, "belongs to kind %s; the kind here is %s", alternatives(owners), kind)
			s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
		}
	}
}

// close reports the keys that nobody has read. It must come after all readings. A
// misspelt key must not be ignored: the operator would believe that it is in force.
func (s *section) close() {
	for _, key := range s.order {
		if !slices.Contains(s.known, key) {
			s.report(s.keys[key], "unknown key%s", cmp.Or(didYouMean(key, s.known), "; the keys here are "+strings.Join(s.known, ", ")))
		}
	}
}

// keyOf is the text of a key. It reports false for keys that are no text (merges,
// anchors, nested values). A number or a boolean counts as it is written: a bot may be
// called 42 or true.
func keyOf(key ast.MapKeyNode) (string, bool) {
	switch node := key.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return node.GetToken().Value, true
	}
	return "", false
}

// join is the path of a key below a path. Keys that would be misread are quoted. Bots may
// have any name, also one with a dot in it.
func join(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(c rune) bool {
		return c == '.' || c == '[' || c == '"' || c <= ' ' || !strconv.IsPrint(c)
	})
	switch {
	case !plain:
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// tokenOf is where a value begins in the file. A mapping in block style begins at its
// first key; an empty value has no place of its own. The place matters to people: an
// editor jumps to it.
func tokenOf(node ast.Node, otherwise *token.Token) *token.Token {
	if node == nil || isNull(node) || node.GetToken() == nil {
		return otherwise
	}
	if mapping, ok := node.(*ast.MappingNode); ok && !mapping.IsFlowStyle && len(mapping.Values) > 0 {
		return mapping.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

// isNull reports whether a key has no value, or one that says so, such as ~ or null.
func isNull(node ast.Node) bool {
	if node == nil {
		return true
	}
	_, null := node.(*ast.NullNode)
	return null
}

// describe names the kind of a value, for people. Anchors, aliases and tags are refused:
// a value must stand where it is read.
func describe(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, and those are not read: write the value out"
	case *ast.TagNode:
		return "a tagged value, and tags are not read: write the value without its tag"
	}
	return "something else"
}
