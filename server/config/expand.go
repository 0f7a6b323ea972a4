package config

import (
	"errors"
	"fmt"
	"strings"
)

// Lookup finds a variable of the environment, as os.LookupEnv does. The caller passes it
// in, so that a test has an environment of its own.
type Lookup func(name string) (value string, found bool)

// expand replaces ${NAME} and ${NAME:-default} in a text. The default counts where the
// variable is unset or empty. $${ stands for ${. A value that was put in is not expanded
// again, so a variable's value is always taken as it is. It is done after the YAML was
// parsed, and text by text: a value with a colon or a quote in it can't change the
// structure of the file. Only texts are expanded, no keys. The text is read once from
// left to right, so the work grows with its length only.
func expand(text string, lookup Lookup) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), nil
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			text = rest
			continue
		}
		reference, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("${ has no closing }; for a literal ${ write $${")
		}
		value, err := resolve(reference, lookup)
		if err != nil {
			return "", err
		}
		out.WriteString(before + value)
		text = after
	}
}

// resolve is the value of a reference, which is the text between ${ and }. A variable
// that is not set is a mistake. As an empty text it would pass for an empty key or
// secret. A mistake never shows what stands between the braces, unless it can be nothing
// but a name: people write the key itself there, ${sk-…}.
func resolve(reference string, lookup Lookup) (string, error) {
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !isVariable(name) {
		return "", errors.New("what stands between ${ and } is not the name of a variable; write ${NAME} or ${NAME:-default}, and $${ for a literal ${")
	}
	value, found := lookup(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !found && !isPlainName(name):
		return "", errors.New("this environment variable is not set; set it, or write ${NAME:-default}. If the key itself stands between the braces, put its variable's name there")
	case !found:
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return value, nil
}

// isVariable reports whether a name is one that shells allow for variables. Other names
// are nearly always a slip, such as a space within the braces.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}

// isPlainName reports whether a name looks like one that people give to variables, in
// capitals and not too long. Keys have small letters, or are longer.
func isPlainName(name string) bool { return name == strings.ToUpper(name) && len(name) <= 40 }
