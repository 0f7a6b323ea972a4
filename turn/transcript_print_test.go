package turn_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/onereply/onereply/turn"
)

// tellStep prints a step: its outcome, the fields that it changed, what became
// of messages and replies, what is to be done, who is told, and when somebody
// must look again.
func tellStep(before, after turn.Record, effects turn.Effects, messages []string, prompt []sight) string {
	lines := []string{outcome(effects)}
	add := func(label string, parts []string) {
		if len(parts) > 0 {
			lines = append(lines, "  "+label+strings.Join(parts, ", "))
		}
	}
	if effects.Changed {
		add("record: ", []string{strings.Join(differences(before, after), " ")})
	}
	add("", messages)
	add("", replies(effects))
	for _, action := range effects.Actions {
		add("do: ", []string{tellAction(action, prompt)})
	}
	add("tell: ", notices(effects.Notices))
	if effects.Changed {
		lines = append(lines, "  "+wake(after))
	}
	return strings.Join(lines, "\n")
}

func outcome(e turn.Effects) string {
	line := string(e.Outcome)
	if e.Reason != "" {
		line += ": " + e.Reason
	}
	if !e.Changed {
		line += " (nothing to write)"
	}
	return line
}

func wake(r turn.Record) string {
	if at, ok := r.Wake(); ok {
		return "wake at " + moment(at)
	}
	return "no wake-up"
}

func replies(e turn.Effects) []string {
	var lines []string
	if e.AppendReply != 0 {
		lines = append(lines, fmt.Sprintf("reply %d is written", e.AppendReply))
	}
	if e.AppendClaim != 0 {
		lines = append(lines, fmt.Sprintf("its id is claimed by %d", e.AppendClaim))
	}
	if e.AppendReset != 0 {
		lines = append(lines, fmt.Sprintf("reset %d is written", e.AppendReset))
	}
	for _, mark := range e.Marks {
		line := fmt.Sprintf("reply %d is %s", mark.Seq, mark.Status)
		if mark.Reason != "" {
			line += " (" + mark.Reason + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func tellAction(action turn.Action, prompt []sight) string {
	switch a := action.(type) {
	case turn.Run:
		early := ""
		if a.Early {
			early = "early "
		}
		line := fmt.Sprintf("run %sattempt %d of turn %d as %s on %s", early, a.Attempt, a.Turn, a.Lease.Nonce, names(prompt))
		if a.Part.NoHistory {
			line += " without the history"
		}
		return line
	case turn.Show:
		return fmt.Sprintf("tell people of the %s of turn %d", a.Sign, a.Turn)
	case turn.Cancel:
		return fmt.Sprintf("cancel %s (%s)", a.Nonce, a.Reason)
	case turn.Send:
		return fmt.Sprintf("send part %d of %d of reply %d as %s", a.Reply.Done+1, a.Reply.Parts, a.Reply.Seq, a.Lease.Nonce)
	}
	return fmt.Sprintf("%#v", action)
}

func notices(told []turn.Notice) []string {
	lines := make([]string, len(told))
	for i, n := range told {
		lines[i] = string(n.Kind)
		if n.Reason != "" {
			lines[i] += " (" + n.Reason + ")"
		}
		if n.Due != 0 {
			lines[i] += " due " + moment(n.Due)
		}
	}
	return lines
}

// differences lists the fields that changed, by their names in JSON; those of a
// part of the record follow its name and a point.
func differences(before, after turn.Record) []string {
	changed := changedFields(before, after)
	if len(changed) == 0 {
		return []string{"as it was"}
	}
	return changed
}

func changedFields(before, after turn.Record) []string {
	var changed []string
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range is.NumField() {
		name := fieldName(is.Type().Field(i))
		switch is.Field(i).Interface().(type) {
		case turn.Window, turn.Attempt, turn.Tries, turn.MinuteCount, turn.BotTurns:
			for j := range is.Field(i).NumField() {
				if inner := is.Field(i).Field(j); !reflect.DeepEqual(was.Field(i).Field(j).Interface(), inner.Interface()) {
					changed = append(changed, name+"."+fieldName(is.Field(i).Type().Field(j))+"="+value(inner))
				}
			}
			continue
		}
		same := reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface())
		if name == "schema" || name == "queue" && len(before.Queue) == len(after.Queue) || same ||
			name == "unconfirmed" && len(before.Unconfirmed)+len(after.Unconfirmed) == 0 {
			continue
		}
		changed = append(changed, name+"="+value(is.Field(i)))
	}
	return changed
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// value prints one field; "-" is what is not set.
func value(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case turn.Time:
		return moment(x)
	case turn.Lease:
		if x == (turn.Lease{}) {
			return "-"
		}
		if x.Lone {
			return fmt.Sprintf("%s alone until %s", x.Nonce, moment(x.Expires))
		}
		return fmt.Sprintf("%s until %s", x.Nonce, moment(x.Expires))
	case turn.Lost:
		if x == (turn.Lost{}) {
			return "-"
		}
		return fmt.Sprintf("%d, %d alone, last %s at %s", x.Count, x.Lone, x.Holder, moment(x.At))
	case string:
		return fmt.Sprintf("%q", x)
	case []turn.Reply:
		return fmt.Sprintf("%d waiting", len(x))
	case []turn.Unconfirmed:
		return unconfirmedLine(x)
	}
	if v.Kind() != reflect.Pointer {
		return fmt.Sprint(v.Interface())
	}
	if v.IsNil() {
		return "-"
	}
	return "{" + strings.Join(members(v.Elem()), " ") + "}"
}

func unconfirmedLine(all []turn.Unconfirmed) string {
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = fmt.Sprintf("reply %d is %s", t.Seq, t.Status)
		if t.Resend {
			lines[i] += ", to be sent again"
		}
	}
	return "[" + strings.Join(lines, "; ") + "]"
}

// tellNotices prints notices with all their fields, one a line.
func tellNotices(told []turn.Notice) string {
	lines := make([]string, 0, len(told))
	for _, s := range told {
		line := fmt.Sprintf("%s %s: turn=%d token=%d attempt=%d version=%d through=%d", moment(s.At), s.Kind, s.Turn, s.Token, s.Attempt, s.Version, s.Through)
		add := func(label string, value any, set bool) {
			if set {
				line += fmt.Sprintf(" %s=%v", label, value)
			}
		}
		add("due", moment(s.Due), s.Due != 0)
		add("first_byte", moment(s.FirstByte), s.FirstByte != 0)
		add("seq", s.Seq, s.Seq != 0)
		add("part", fmt.Sprintf("%d/%d", s.Part, s.Parts), s.Parts != 0)
		add("late", s.Late, s.Late)
		add("holder", s.Holder, s.Holder != "")
		add("since", moment(s.Since), s.Since != 0)
		add("reason", fmt.Sprintf("%q", s.Reason), s.Reason != "")
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// members lists the fields of a nested struct that are set.
func members(v reflect.Value) []string {
	var set []string
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			set = append(set, fieldName(v.Type().Field(i))+"="+value(v.Field(i)))
		}
	}
	return set
}

// moment is a time relative to the start of the transcript.
func moment(t turn.Time) string {
	if t == 0 {
		return "-"
	}
	return t.Sub(start).String()
}
