package onereply

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// identity tells people apart: by their ID, or by the name where there is no ID. A
// sender whose name the channel gives only now and then is one person.
func (p Person) identity() Person {
	if p.ID != "" {
		return Person{ID: p.ID}
	}
	return Person{Name: p.Name}
}

// shownNames is how people are called in the turn's prompt, by their identities: the
// senders, and the authors of what they quote and forward. show tells whether names stand
// before messages; only senders count for that. Of several names of one person the last
// counts.
func (t *Turn) shownNames() (names map[Person]string, show bool) {
	var people []Person // in the order in which they appear
	given := map[Person]string{}
	add := func(p Person) {
		who := p.identity()
		if who == (Person{}) { // one that is not known does not count as another person
			return
		}
		if _, ok := given[who]; !ok {
			people = append(people, who)
			given[who] = ""
		}
		if p.Name != "" {
			given[who] = p.Name
		}
	}
	all := slices.Concat(t.History, t.Messages)
	for _, e := range all {
		if e.Role != RoleAssistant {
			add(e.Sender)
		}
	}
	senders := len(people)
	for _, e := range all {
		if e.ReplyTo != nil {
			add(e.ReplyTo.Sender)
		}
		add(e.ForwardedFrom)
	}
	show = t.names == NamesAlways || t.names != NamesNever && senders > 1
	return distinctNames(people, given), show
}

// nameOf is how a person is called in the prompt. Another bot is called one.
func (w *promptWriter) nameOf(p Person) string {
	name := w.names[p.identity()]
	if p.Bot {
		name += " (bot)"
	}
	return name
}

// anyone is the name of senders of whom nothing is known.
const anyone = "someone"

// distinctNames gives each person a name that nobody else has. Two who call themselves
// the same are told apart by their IDs; so is one who takes a name that means something
// to a model.
func distinctNames(people []Person, given map[Person]string) map[Person]string {
	count := map[string]int{anyone: 1, "you": 1, "assistant": 1, "user": 1, "system": 1, "developer": 1, "tool": 1}
	for _, who := range people {
		count[strings.ToLower(bareName(who, given[who]))]++
	}
	names := map[Person]string{{}: anyone}
	taken := map[string]bool{anyone: true}
	for _, who := range people {
		name := bareName(who, given[who])
		if id := shownName(who.ID); count[strings.ToLower(name)] > 1 && id != "" && id != name {
			name += " (" + id + ")"
		}
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = strings.TrimSuffix(name, " #"+strconv.Itoa(n-1)) + " #" + strconv.Itoa(n)
		}
		taken[strings.ToLower(name)] = true
		names[who] = name
	}
	return names
}

// bareName is what a person is called where no other has that name.
func bareName(who Person, given string) string {
	for _, name := range []string{given, who.Name, who.ID} {
		if name = shownName(name); name != "" {
			return name
		}
	}
	return anyone
}

// maxShownName is how many characters of a name are shown.
const maxShownName = 80

// shownName is a name without the signs that give a prompt its structure: line breaks,
// brackets, bars, quotation marks, number signs, and whatever looks like a colon. What
// can't be seen is left out.
func shownName(name string) string {
	return shortened(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Z, unicode.Ps, unicode.Pe), strings.ContainsRune(structural, r):
			return ' '
		case unicode.In(r, unicode.C):
			return -1
		}
		return r
	}, name), maxShownName)
}

// structural are signs that would be taken for those of the writer.
const structural = `"<>|#;` + ":：︓﹕︰꞉ː˸∶ꓽ։׃܃܄፡⁚"
