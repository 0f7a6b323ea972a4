package turn

import "slices"

// One conversation under several names.
//
// A person writes from a phone number and from a hidden id; a group becomes a
// supergroup. A conversation keeps its place in the store under the name that it got
// first, its original name. Other names lead there. Such a name, an alias, has a record of
// its own in its place, which holds nothing but where it leads ([Record.LeadsTo]). So
// whoever writes under the alias meets that record by the same compare-and-swap as any
// other, and can't begin a second conversation there.
//
// The conversation knows its aliases too ([Names]). A node that remembers an alias
// compares: a name that the conversation does not list was perhaps taken away, and the
// node reads where it leads now. If the name does lead here, its maker did not live to
// tell, and the conversation lists it from now on.
//
// A name is taken away in two writes: the conversation drops it, then the alias is freed.
// A name that was dropped is listed again only if somebody gives it once more. Until
// then whoever comes under it looks each time where it leads. So it does not matter
// whether the second write follows at once, late, or never.
//
// A move gives the conversation another key, by which it is shown, and the old one
// becomes an alias. It takes three writes, and is done with the second: the conversation
// notes which name it claims, the name is made an alias, and the conversation takes it as
// its key. Whoever finds a claim looks where that name leads, and so finishes the move,
// or knows that it never happened.

// Names are the names of a conversation besides its original name.
type Names struct {
	Key     string   `json:"key,omitempty"`     // by which it is shown; "": the original name
	Aliases []string `json:"aliases,omitempty"` // names with records that lead here
	Dropped []string `json:"dropped,omitempty"` // names that were taken away, the newest last
	Claim   string   `json:"claim,omitempty"`   // the name that a move claims
	Address string   `json:"address,omitempty"` // by which it was last written to; "": its key
}

// MaxAliases bounds the names of a conversation, which are part of each of its writes. It
// bounds those that were taken away too: the oldest is forgotten.
const MaxAliases = 16

// Lists reports whether the conversation knows of itself that an alias leads to it. Any
// other name has to be looked up.
func (n Names) Lists(alias string) bool { return slices.Contains(n.Aliases, alias) }

// Name is the key by which a conversation is shown that began with the name first.
func (r Record) Name(first string) string {
	if r.Names.Key != "" {
		return r.Names.Key
	}
	return first
}

// Empty reports whether a record stands for nothing: nothing was ever said, nobody has
// paused it, and no name leads there. It is what an alias leaves.
func (r Record) Empty() bool {
	return r.Version == 0 && r.Seq == 0 && !r.OnHold && r.LeadsTo == "" && r.Names.Claim == ""
}

// aliasEvent handles the events that make a name an alias, or free it again, and
// reports whether the event is of that kind. No other event changes an alias.
func (s *step) aliasEvent(event Event) bool {
	switch e := event.(type) {
	case LeadName:
		s.leadName(e)
	case FreeName:
		s.freeName(e)
	default:
		if s.LeadsTo == "" {
			return false
		}
		s.ignore(NameTaken)
	}
	return true
}

// leadName makes a name an alias where nothing is. A repeat writes the record once more: it
// is proof for its caller that the name led there at that moment.
func (s *step) leadName(e LeadName) {
	repoints := s.LeadsTo != "" && s.LeadsTo != e.To && !e.Fresh
	if !s.Empty() && s.LeadsTo != e.To && !repoints {
		s.ignore(NameTaken)
		return
	}
	s.Changed = true
	s.Phase, s.LeadsTo = Alias, e.To
}

// freeName frees a name that leads to a conversation.
func (s *step) freeName(e FreeName) {
	if s.LeadsTo == "" || s.LeadsTo != e.From {
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
	s.Phase, s.LeadsTo = Idle, ""
}

// claimName notes the name that a move is about to make an alias; "" takes it back.
func (s *step) claimName(e ClaimName) {
	s.Changed = s.Names.Claim != e.Name
	s.Names.Claim = e.Name
}

// adoptName notes an alias, or the original name (""), and makes it the key where that is
// asked for. An entry of the transcript says so; retention never removes it, and with it
// no conversation to which a name leads.
func (s *step) adoptName(e AdoptName) {
	known := e.Name == "" || s.Names.Lists(e.Name)
	moves := e.Key && s.Names.Key != e.Name
	switch {
	case known && !moves && s.Names.Claim != e.Name:
		return
	case !known && len(s.Names.Aliases) >= MaxAliases:
		s.ignore(TooManyNames)
		return
	}
	s.Changed = true
	if !known {
		s.Names.Aliases = append(s.Names.Aliases, e.Name)
		s.Names.Dropped = without(s.Names.Dropped, e.Name)
	}
	if s.Names.Claim == e.Name {
		s.Names.Claim = ""
	}
	if moves {
		s.Names.Key, s.Names.Address = e.Name, ""
		s.notify(KindConversationMoved, "")
	}
	if !known || moves {
		s.Seq++
		s.AppendName = s.Seq
	}
}

// dropName takes an alias away. The key of a conversation is not dropped.
func (s *step) dropName(e DropName) {
	switch {
	case e.Name == s.Names.Key:
		s.ignore(NameTaken)
		return
	case slices.Contains(s.Names.Dropped, e.Name):
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
	s.Names.Aliases = without(s.Names.Aliases, e.Name)
	s.Names.Dropped = append(s.Names.Dropped, e.Name)
	s.Names.Dropped = s.Names.Dropped[max(0, len(s.Names.Dropped)-MaxAliases):]
	if s.Names.Address == e.Name {
		s.Names.Address = ""
	}
}

// without is a list of names without one of them.
func without(names []string, name string) []string {
	names = slices.DeleteFunc(names, func(other string) bool { return other == name })
	if len(names) == 0 {
		return nil
	}
	return names
}
