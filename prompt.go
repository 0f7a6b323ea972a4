package onereply

import "strings"

// joinMessages makes one text of several messages.
func joinMessages(messages []Message) string {
	people := map[Person]bool{}
	for _, m := range messages {
		if m.Sender != (Person{}) { // a message without a sender does not count as another person's
			people[m.Sender] = true
		}
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(people) > 1 {
			b.WriteString(nameOf(m.Sender))
			b.WriteString(": ")
		}
		b.WriteString(describe(m))
	}
	return b.String()
}

func nameOf(p Person) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.ID != "":
		return p.ID
	}
	return "someone"
}

// describe is the message's text, and a placeholder for each attachment, so
// that a kind that can't be read is still mentioned.
func describe(m Message) string {
	lines := make([]string, 0, 1+len(m.Attachments))
	if strings.TrimSpace(m.Text) != "" {
		lines = append(lines, m.Text)
	}
	for _, a := range m.Attachments {
		kind := a.Kind
		if kind == "" {
			kind = "attachment"
		}
		switch {
		case a.Pending:
			lines = append(lines, "["+kind+", not available]")
		case a.URL != "":
			lines = append(lines, "["+kind+": "+a.URL+"]")
		default:
			lines = append(lines, "["+kind+"]")
		}
	}
	return strings.Join(lines, " ")
}
