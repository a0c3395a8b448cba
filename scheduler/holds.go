package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// hold keeps new reservations and new leases out.
type hold struct {
	id      HoldID
	session leases.Session
	call    uint64 // of its session; 0 for an update's
	reason  string
	// frontier is the last execution that had begun when the hold was taken.
	frontier uint64
	waiters  []Ticket
}

// Hold keeps new reservations and new leases out until Release or the end of the session. call tells the session's calls apart,
// from 1: one that is asked again, because its answer was lost, gets the same hold. Errors: ErrClosed, ErrRefused.
func (s *Scheduler) Hold(session leases.Session, call uint64, reason string) (HoldID, error) {
	if s.dead != nil {
		return 0, s.dead
	}
	for _, h := range s.holds {
		if h.session == session && h.call == call && call > 0 {
			return h.id, nil
		}
	}
	h, err := s.acquire(session, reason)
	if err != nil {
		return 0, err
	}
	h.call = call
	return h.id, nil
}

func (s *Scheduler) acquire(session leases.Session, reason string) (*hold, error) {
	if s.closing != nil {
		return nil, s.closing.why("closing")
	}
	if s.members[session] == nil {
		return nil, fmt.Errorf("%w: session %s holds without being attached; attach first", leases.ErrRefused, session)
	}
	s.nextHold++
	h := &hold{id: HoldID(s.term.Number<<40 | uint64(s.nextHold)), session: session, reason: reason, frontier: s.running.seq}
	s.holds = append(s.holds, h)
	s.log(Info, "hold", "hold", h.id, "reason", reason, "executing", s.running.live)
	if s.ledger != nil {
		s.serveCredits() // what the hold waits for may wait for bytes
	}
	return h, nil
}

func (s *Scheduler) findHold(id HoldID) (*hold, error) {
	for _, h := range s.holds {
		if h.id == id {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%w: hold %d is not held (released, recorded, or of a former life of the owner); take a new one", leases.ErrStale, id)
}

// mayBegin reports whether what a hold is for may begin: what ran when it was taken has ended, if that is waited for, and no
// earlier hold excludes it.
func (s *Scheduler) mayBegin(h *hold, drain bool) bool {
	return s.before(h) == nil && (!drain || s.over(h))
}

// before is the hold that has to end before what h is for begins, nil for none: weights do not change under somebody else's hold,
// an evaluation of the engines for one, and nobody's begins while weights are on their way. The earlier one goes first.
func (s *Scheduler) before(h *hold) *hold {
	for _, o := range s.holds {
		if o == h {
			break
		}
		if u := s.update; u != nil && (u.hold == h) != (u.hold == o) {
			return o
		}
	}
	return nil
}

// over reports whether everything that ran when the hold was taken has ended. It does not wait for a place in a full
// buffer: a finished group is over. Nor does it wait for what is stuck: that would be for ever.
func (s *Scheduler) over(h *hold) bool {
	for e := range s.running.all() {
		if e.seq > h.frontier {
			break
		}
		if !e.stuck {
			return false
		}
	}
	return true
}

// Frontier waits until what ran when the hold was taken has ended, and until an update that began before it is over. Answer: the
// HoldID. Errors: ErrStale, ErrUpdateFailed (that update has failed; the run is held for as long as it stands).
func (s *Scheduler) Frontier(t Ticket, id HoldID) {
	if s.dead != nil {
		s.answer(t, nil, s.dead)
		return
	}
	h, err := s.findHold(id)
	if err != nil {
		s.answer(t, nil, err)
		return
	}
	h.waiters = append(h.waiters, t)
	s.pump()
}

// CancelFrontier ends a wait; hold and frontier are unaffected.
func (s *Scheduler) CancelFrontier(t Ticket) {
	for _, h := range s.holds {
		if i := slices.Index(h.waiters, t); i >= 0 {
			h.waiters = slices.Delete(h.waiters, i, i+1)
			s.answer(t, nil, fmt.Errorf("%w: the wait for the frontier of hold %d was cancelled", leases.ErrClosed, h.id))
			return
		}
	}
}

// checkFrontiers answers whose frontier has ended, and begins the update that waited for that.
func (s *Scheduler) checkFrontiers() {
	for _, h := range s.holds {
		if o := s.before(h); o != nil && s.update.hold == o && s.update.failed {
			h.fail(s, s.update.failure())
		}
		if len(h.waiters) > 0 && s.mayBegin(h, true) {
			s.answerAll(h.waiters, h.id, nil)
			h.waiters = nil
		}
	}
	if s.update != nil {
		s.startUpdate()
	}
}

// fail tells those who wait on a hold err.
func (h *hold) fail(s *Scheduler, err error) {
	s.answerAll(h.waiters, nil, err)
	h.waiters = nil
}

// Release ends a hold. An update's hold released without Record is a failed update. Errors: ErrStale (not held).
func (s *Scheduler) Release(id HoldID) error {
	if s.dead != nil {
		return s.dead
	}
	h, err := s.findHold(id)
	if err != nil {
		return err
	}
	s.endHold(h, fmt.Errorf("%w: hold %d was released", leases.ErrStale, id))
	s.pump()
	return nil
}

// endHold takes a hold away; who still waits on it is told err.
func (s *Scheduler) endHold(h *hold, err error) {
	s.holds = slices.DeleteFunc(s.holds, func(o *hold) bool { return o == h })
	h.fail(s, err)
	if u := s.update; u != nil && u.hold == h {
		s.update = nil
		u.fail(s, err)
		if !u.recorded {
			s.log(Warn, "update ended without being recorded", "version", u.version, "reason", err)
			s.voidUnannounced()
		}
	}
	s.log(Info, "hold over", "hold", h.id, "reason", h.reason)
}
