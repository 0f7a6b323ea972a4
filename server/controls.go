package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/onereply/onereply"
)

// postTyping moves the end of the quiet time, within the hard cap: somebody is still
// writing. It changes no version, so a running attempt stays current. It does nothing
// where no message waits.
func (s *Server) postTyping(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		For *string `json:"for"`
	}
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	quiet, err := duration("for", body.For) // 0: one debounce
	if err != nil {
		return err
	}
	if err := s.app.Typing(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), quiet); err != nil {
		return err
	}
	return respondEmpty(w)
}

// duration reads a field that may be absent: then it is 0.
func duration(field string, text *string) (time.Duration, error) {
	if text == nil {
		return 0, nil
	}
	d, err := time.ParseDuration(*text)
	if err != nil || d <= 0 {
		return 0, errField(field, `It must be a duration of more than 0, such as "5s".`)
	}
	return d, nil
}

// postFlush ends the quiet time now: what waits is answered at once. It does nothing
// where nothing waits.
func (s *Server) postFlush(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	now, err := s.app.Flush(r.Context(), r.PathValue("bot"), r.PathValue("conversation"))
	return respondState(w, http.StatusAccepted, now, err)
}

// postPause hands a conversation to a person. Messages are kept, and the reply of a
// running attempt is discarded. While it lasts nothing is generated or sent. It may end
// by itself.
func (s *Server) postPause(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Reason string  `json:"reason"`
		For    *string `json:"for"`
	}
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	lasts, err := duration("for", body.For)
	if err != nil {
		return err
	}
	now, err := s.app.Pause(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), onereply.Pause{Reason: body.Reason, For: lasts})
	return respondState(w, http.StatusOK, now, err)
}

// postResume gives a paused conversation back to the bot. Waiting messages are answered
// unless the body says otherwise. If it does, they are closed without a reply, because a
// person has seen to them.
func (s *Server) postResume(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		AnswerPending *bool `json:"answer_pending"`
	}
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	answer := body.AnswerPending == nil || *body.AnswerPending
	now, err := s.app.Resume(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), answer)
	return respondState(w, http.StatusOK, now, err)
}

// postReset begins afresh: what waits is closed, and later turns know nothing of what was
// said before.
func (s *Server) postReset(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	now, err := s.app.Reset(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), body.Reason)
	return respondState(w, http.StatusAccepted, now, err)
}

// postReply takes a reply from outside. It goes out also while the conversation is paused,
// and settles what waits, unless it closes nothing: then the bot answers the same messages
// as if it were not there.
func (s *Server) postReply(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		ID       string  `json:"id"`
		Text     string  `json:"text"`
		Closes   *bool   `json:"closes"`
		Sent     bool    `json:"sent"`
		PauseFor *string `json:"pause_for"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	silent, err := duration("pause_for", body.PauseFor)
	if err != nil {
		return err
	}
	reply := onereply.HumanReply{
		ID: body.ID, Text: body.Text, Beside: body.Closes != nil && !*body.Closes, Sent: body.Sent, PauseFor: silent,
	}
	got, err := s.app.Answer(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), reply)
	return accepted(w, got, err)
}

// postRequeue tries a failed turn again, with everything that waits. Messages that
// earlier turns set aside come with it.
func (s *Server) postRequeue(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	now, err := s.app.Requeue(r.Context(), r.PathValue("bot"), r.PathValue("conversation"))
	return respondState(w, http.StatusAccepted, now, err)
}

// postResend sends the reply again. The person may see it twice: only an operator who
// has looked can know.
func (s *Server) postResend(w http.ResponseWriter, r *http.Request) error {
	return s.resolveReply(w, r, s.app.Resend)
}

// postMarkSent records that the reply arrived, and sends nothing.
func (s *Server) postMarkSent(w http.ResponseWriter, r *http.Request) error {
	return s.resolveReply(w, r, s.app.MarkSent)
}

// resolveReply lets an operator decide about a reply whose outcome is unknown, or of
// which only a part was sent. The number of the turn is in the path, so that a click on
// an old page can't decide about a newer reply.
func (s *Server) resolveReply(w http.ResponseWriter, r *http.Request, resolve func(ctx context.Context, bot, conversation string, turn int64) (onereply.State, error)) error {
	turn, err := turnOf(r)
	if err != nil {
		return err
	}
	if err := decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	now, err := resolve(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), turn)
	return respondState(w, http.StatusAccepted, now, err)
}

// turnOf is the number of the turn in the path.
func turnOf(r *http.Request) (int64, error) {
	turn, err := strconv.ParseInt(r.PathValue("turn"), 10, 64)
	if err != nil || turn < 1 {
		return 0, errField("turn", "It must be the number of a turn.")
	}
	return turn, nil
}

// postReplyStatus takes in what a channel says of a reply that it took earlier. It is
// part of the daily traffic of channels, and may come twice and in any order.
func (s *Server) postReplyStatus(w http.ResponseWriter, r *http.Request) error {
	turn, err := turnOf(r)
	if err != nil {
		return err
	}
	var body struct {
		Status onereply.ReplyStatus `json:"status"`
		Reason string               `json:"reason"`
		Part   *int                 `json:"part"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	report := onereply.ReplyReport{Status: body.Status, Reason: body.Reason}
	if body.Part != nil {
		if *body.Part < 1 {
			return errField("part", "It must be the number of a part, from 1. Leave it out where all are meant.")
		}
		report.Part = *body.Part
	}
	got, err := s.app.ReportReply(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), turn, report)
	return accepted(w, got, err)
}

// postSeal is for an agent that is about to do something irreversible: from then on its
// attempt can't be discarded. The token proves that the attempt still holds the lease;
// 409 tells the agent to stop. There is no way back, and newer messages wait for the next
// turn.
func (s *Server) postSeal(w http.ResponseWriter, r *http.Request) error {
	token, err := strconv.ParseInt(r.PathValue("token"), 10, 64)
	if err != nil || token < 1 {
		return errField("token", "It must be the number that came with the turn.")
	}
	if err := decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	if err := s.app.Seal(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), token); err != nil {
		return err
	}
	return respond(w, http.StatusOK, map[string]bool{"sealed": true})
}

// respondState answers with the state of the conversation after a call of the App. So a
// page that made the call can show its result without another request.
func respondState(w http.ResponseWriter, status int, now onereply.State, err error) error {
	if err != nil {
		return err
	}
	return respond(w, status, now)
}
