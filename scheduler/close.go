package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"outrider/leases"
)

// closing is a run on its way to its end.
type closing struct {
	tickets  []Ticket
	late     []Ticket // takes that came since
	deadline time.Duration
	err      error // why, nil when it was asked for
	force    bool  // what cannot go back to its source is left to the final state
}

// Close ends the run: new work stops, cancels go out, terminals are awaited (bounded), the rest is requeued.
// Answer: CloseReport, then Ended; of a run that has failed, too, once. Errors: ErrConflict (leases are open and force is not set; lists them).
func (s *Scheduler) Close(t Ticket, force bool) {
	switch {
	case s.closed != nil:
		s.answer(t, *s.closed, nil)
		s.closed = nil
		s.emit(Ended{Err: s.dead})
		return
	case s.dead != nil:
		s.answer(t, nil, s.dead)
		return
	case s.ledger == nil:
		s.die(nil, nil)
		s.effects = slices.Insert(s.effects, len(s.effects)-1, Effect(Answer{Ticket: t, Value: CloseReport{}}))
		return
	case s.closing != nil:
		s.closing.tickets = append(s.closing.tickets, t)
		s.closing.force = s.closing.force || force
		s.pulls.returns = 0
		s.pump()
		return
	}
	if open := s.ledger.OpenLeases(); len(open) > 0 && !force {
		var names []string
		for _, lease := range open {
			names = append(names, fmt.Sprintf("rollout %d (admission %d, %s)", lease.Rollout, lease.Admission, lease.State()))
		}
		s.answer(t, nil, fmt.Errorf("%w: cannot close with open leases: %s; commit or roll them back, or close with force", leases.ErrConflict, strings.Join(names, ", ")))
		return
	}
	s.startClose(nil, true)
	s.closing.tickets, s.closing.force = append(s.closing.tickets, t), force
	s.pulls.returns = 0
	s.pump()
}

// fail ends the run with err once what is executing has drained (bounded by CloseGrace); waiting takes get err.
func (s *Scheduler) fail(err error) { s.startClose(err, false) }

// startClose stops new work. cancel asks workers to end what runs; without it, it may finish.
func (s *Scheduler) startClose(err error, cancel bool) {
	if s.closing != nil {
		return
	}
	s.closing = &closing{deadline: s.now + s.cfg.CloseGrace, err: err}
	s.log(Info, "closing", "executing", s.running.live, "error", err)
	for _, t := range s.takes {
		if err != nil {
			// The error comes out when what is under way has drained, before any queued group.
			s.closing.late = append(s.closing.late, t.tickets...)
			continue
		}
		t.fail(s, s.closing.why("closing"))
	}
	s.takes = nil
	why := s.closing.why("closing")
	s.failCredits(why)
	s.failCommits(why)
	s.failPushes(why, nil)
	for e := range s.running.all() {
		if cancel && e.group != nil {
			s.emit(Cancel{Session: e.m.session, Receipt: e.receipt})
		}
	}
}

// finishClose settles everything once nothing runs any more, or the grace is over.
func (s *Scheduler) finishClose() {
	c := s.closing
	late := s.now >= c.deadline
	if s.ledger != nil {
		if !late && (s.running.live > 0 || len(s.replicating) > 0) {
			return
		}
		s.failReplications(c.why("closed"))
		s.settleAll()
		if s.owesSource(late) {
			return
		}
	}
	report := CloseReport{}
	if s.ledger != nil {
		report.Books = s.ledger.Books()
		state, err := s.ledger.State(s.ledger.LastRollout())
		if err != nil {
			s.log(Error, "no final state", "error", err)
		}
		report.State = state
		s.logBooks("closed")
	}
	for _, t := range c.late {
		s.answer(t, nil, c.why("closed"))
	}
	s.answerAll(c.tickets, report, nil)
	if c.err != nil && len(c.tickets) == 0 {
		s.die(c.err, &report)
		return
	}
	s.die(c.err, nil)
}

// why is what calls are told of which the run has no more to say.
func (c *closing) why(what string) error {
	if c.err != nil {
		return c.err
	}
	return fmt.Errorf("%w: the run is %s", leases.ErrClosed, what)
}

// owesSource gives back to a pulled source what came from it, and reports whether the end has to wait for that. When the source
// does not take it, those who closed are told so, and may close again.
func (s *Scheduler) owesSource(late bool) bool {
	c, p := s.closing, &s.pulls
	if !s.cfg.Source.Pulled || late && c.force {
		return false
	}
	if p.asked > 0 && !late {
		return true
	}
	if p.returns == 0 || s.ledger.Count(leases.Returning) > 0 {
		s.sendBack()
	}
	if len(p.back) > 0 {
		return true
	}
	err := s.unreturned()
	switch {
	case err == nil, c.force:
		return false
	case c.err != nil:
		s.log(Error, "groups are left that the data source did not take back", "error", err)
		return false
	}
	s.answerAll(c.tickets, nil, err)
	c.tickets = nil
	return true
}

// settleAll returns everything that has not settled to the source.
func (s *Scheduler) settleAll() {
	for rollout := range s.finals {
		s.dropFinal(rollout)
	}
	for _, lease := range s.ledger.OpenLeases() {
		s.rollback(lease, "the run closed", nil)
	}
	for _, g := range s.ledger.Groups() {
		switch g.State() {
		case leases.Executing:
			s.void(s.running.find(s.ledger.Receipt(g)))
			s.abandon(g)
		case leases.Terminal, leases.Completed:
			s.takeOut(g)
			s.releaseGroup(g)
			s.unhold(g)
			s.abandon(g)
		case leases.Returning, leases.RollbackFailed:
		default:
			s.abandon(g)
		}
	}
}

func (s *Scheduler) logBooks(when string) {
	b := s.ledger.Books()
	kv := []any{"reserved", b.Reserved.Groups, "acknowledged", b.Acknowledged.Groups, "failed", b.Failed.Groups, "live", b.Live.Groups, "requeued", b.Requeued}
	for _, d := range b.Discarded {
		kv = append(kv, "discarded_"+d.Reason, d.Tally.Groups)
	}
	s.log(Info, "books: "+when, kv...)
	if !b.Closed() {
		s.log(Error, "the books do not close", kv...)
	}
}
