package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// take is one consumer that waits for a batch, or for other groups in place of discarded ones.
type take struct {
	tickets []Ticket // of a refill: the discard's, then those of takes of its lease
	session leases.Session
	rollout int64
	want    leases.Tally
	// refill is the lease that lost groups; nil for a take.
	refill *leases.Lease
}

func (t *take) fail(s *Scheduler, err error) {
	s.answerAll(t.tickets, nil, err)
}

// Take waits for a batch for rollout. Answer: Lease. The same session asking again for a rollout whose lease is
// open gets that lease; another session is refused (ErrConflict). A rollout at or below the last committed one is
// refused (ErrConflict). Errors: also ErrEndOfRun, ErrClosed, ErrFailed, ErrRefused.
func (s *Scheduler) Take(t Ticket, session leases.Session, rollout int64) {
	if err := s.closedErr(); err != nil {
		s.answer(t, nil, err)
		return
	}
	if s.closing != nil {
		s.closing.late = append(s.closing.late, t)
		return
	}
	if err := s.joinTake(t, session, rollout); err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

func (s *Scheduler) joinTake(t Ticket, session leases.Session, rollout int64) error {
	m := s.members[session]
	if m == nil {
		return fmt.Errorf("%w: session %s takes rollout %d without being attached; attach first", leases.ErrRefused, session, rollout)
	}
	if rollout < 0 {
		return fmt.Errorf("%w: rollout %d is negative; rollouts are numbered from 0", leases.ErrRefused, rollout)
	}
	if err := s.said(m); err != nil {
		return err
	}
	for _, w := range s.takes {
		if w.rollout == rollout && w.refill == nil {
			if w.session != session {
				return fmt.Errorf("%w: rollout %d is being taken by session %s", leases.ErrConflict, rollout, w.session)
			}
			w.tickets = append(w.tickets, t)
			return nil
		}
	}
	if f := s.finals[rollout]; f != nil && f.Holder == session {
		s.answer(t, f.answer, nil)
		return nil
	}
	if s.ledger != nil {
		if last := s.ledger.LastRollout(); rollout <= last {
			return fmt.Errorf("%w: rollout %d is committed; the next one is %d", leases.ErrConflict, rollout, last+1)
		}
		for _, lease := range s.ledger.OpenLeases() {
			if lease.Rollout != rollout {
				continue
			}
			if lease.Holder != session {
				return fmt.Errorf("%w: rollout %d is held by session %s (admission %d, %s)", leases.ErrConflict, rollout, lease.Holder, lease.Admission, lease.State())
			}
			if w := s.refilling(lease); w != nil {
				w.tickets = append(w.tickets, t) // it is about to get other groups
				return nil
			}
			s.answer(t, s.leaseAnswer(lease), nil)
			return nil
		}
		if err := s.leftBehind(rollout); err != nil {
			return err
		}
	}
	// Lower rollouts first: what they wait for must not go to one that can only be committed after them.
	at := len(s.takes)
	for at > 0 && s.takes[at-1].refill == nil && s.takes[at-1].rollout > rollout {
		at--
	}
	s.takes = slices.Insert(s.takes, at, &take{tickets: []Ticket{t}, session: session, rollout: rollout, want: s.cfg.batch()})
	return nil
}

// leftBehind refuses a rollout that only makes sense to who has not heard that the run went back: the one before it was
// undone and is not under way again. Waiting for it could last for ever, because who waits does not bring the engines back.
func (s *Scheduler) leftBehind(rollout int64) error {
	last := s.ledger.LastRollout()
	if last >= s.highest || rollout <= last+1 || rollout > s.highest+1+int64(max(s.cfg.Prefetch, 0)) {
		return nil
	}
	for _, w := range s.takes {
		if w.refill == nil && w.rollout == rollout-1 {
			return nil
		}
	}
	for _, lease := range s.ledger.OpenLeases() {
		if lease.Rollout == rollout-1 {
			return nil
		}
	}
	return fmt.Errorf("%w: rollout %d does not come next: the run went back to rollout %d, take %d", leases.ErrRefused, rollout, last, last+1)
}

// dropTakes ends the waiting takes that a rewind has left behind.
func (s *Scheduler) dropTakes() {
	for _, t := range slices.Clone(s.takes) {
		if err := s.leftBehind(t.rollout); t.refill == nil && err != nil {
			s.takes = slices.DeleteFunc(s.takes, func(o *take) bool { return o == t })
			t.fail(s, err)
		}
	}
}

// CancelTake ends a waiting take (Answer: ErrClosed); no group is lost. A ticket that does not wait is ignored.
func (s *Scheduler) CancelTake(t Ticket) {
	for i, w := range s.takes {
		for j, k := range w.tickets {
			if k != t || w.refill != nil && j == 0 {
				continue // a refill goes on, whoever waits for its lease
			}
			lack := s.waitsFor()
			if lack != "" {
				lack = "; " + lack
			}
			s.answer(t, nil, fmt.Errorf("%w: the take of rollout %d was cancelled%s", leases.ErrClosed, w.rollout, lack))
			w.tickets = append(w.tickets[:j], w.tickets[j+1:]...)
			if len(w.tickets) == 0 {
				s.takes = append(s.takes[:i], s.takes[i+1:]...)
			}
			s.pump()
			return
		}
	}
}

// serveTakes leases batches to waiting takes in order. Every group is checked against the announced version at
// this very event, so a version recorded while a batch assembled counts. It reports whether anything changed.
func (s *Scheduler) serveTakes() bool {
	changed := false
	// An owner that some trainer rank is not attached to may have been replaced without knowing it: what it leased could
	// never be committed.
	for len(s.takes) > 0 && len(s.holds) == 0 && s.whole() {
		for g := s.buffer.stalest(); g != nil && s.stale(g); g = s.buffer.stalest() {
			s.settleStale(g, leases.Receipt{})
			changed = true
		}
		t := s.takes[0]
		if last := s.ledger.LastRollout(); t.refill == nil && t.rollout <= last {
			s.takes = s.takes[1:]
			t.fail(s, fmt.Errorf("%w: rollout %d is committed; the next one is %d", leases.ErrConflict, t.rollout, last+1))
			continue
		}
		if s.incomplete(t.want) {
			if s.starved() && s.callBack(t) {
				changed = true
				continue
			}
			if s.dropLast(t) {
				return true // finishRun ends the take
			}
			if !s.dry() || s.buffer.n == 0 && t.refill == nil || s.topUp(t) {
				return changed
			}
		}
		changed = true
		if s.buffer.n == 0 && len(t.refill.Groups) == 0 {
			s.rollback(t.refill, "every group of it was discarded, and the source has no other", nil) // which answers the call
			continue
		}
		groups := s.choose(t.want)
		s.takes = s.takes[1:]
		s.serve(t, groups, !reached(tally(groups), t.want))
	}
	return changed
}

// dry reports whether nothing more can enter the buffer but what open leases may give back.
func (s *Scheduler) dry() bool { return !s.ledger.Flows() && s.exhausted() }

// exhausted is dry of a source that may still be given more.
func (s *Scheduler) exhausted() bool {
	return !s.ledger.Available() && s.ledger.Count(leases.Reserved)+s.ledger.Count(leases.Executing)+s.ledger.Count(leases.Terminal)+s.ledger.Count(leases.Returning)+s.ledger.Resting() == 0
}

// starved reports whether no group can enter the buffer until a lease is settled.
func (s *Scheduler) starved() bool {
	return s.buffer.n == 0 && (s.dry() || s.ledger.Count(leases.Leased) >= s.limits.Completed || s.paced() && s.ledger.Count(leases.Leased) == s.ledger.Live())
}

// callBack rolls back the last lease that a waiting session took ahead, for a rollout above the one that it waits for: its first lease
// of that one was lost, and it would wait for itself. False when there is none.
func (s *Scheduler) callBack(t *take) bool {
	var ahead *leases.Lease
	for _, lease := range s.ledger.OpenLeases() {
		if lease.Holder == t.session && lease.Rollout > t.rollout && lease.State() != leases.LeaseCommitting && (ahead == nil || lease.Rollout > ahead.Rollout) {
			ahead = lease
		}
	}
	if ahead == nil {
		return false
	}
	why := fmt.Sprintf("session %s waits for rollout %d, for which no group is left", t.session, t.rollout)
	s.rollback(ahead, why, fmt.Errorf("%w: admission %d of rollout %d was taken ahead and rolled back: %s; take it again after that one", leases.ErrRefused, ahead.Admission, ahead.Rollout, why))
	return true
}

func (s *Scheduler) serve(t *take, groups []*leases.Group, short bool) {
	var answer Lease
	switch {
	case s.cfg.Unowned:
		answer = s.takeFinal(t, groups, short)
	case t.refill != nil:
		s.ledger.Refill(t.refill, groups, t.refill.Short || short)
		answer = s.leaseAnswer(t.refill)
	default:
		lease := s.ledger.OpenLease(t.rollout, t.session, groups, short)
		answer = s.leaseAnswer(lease)
		s.log(Info, "lease", "rollout", t.rollout, "admission", lease.Admission, "groups", len(groups), "short", short)
	}
	s.answerAll(t.tickets, answer, nil)
}

func (s *Scheduler) leaseAnswer(lease *leases.Lease) Lease {
	out := Lease{
		Admission: lease.Admission, Rollout: lease.Rollout, Timeline: s.ledger.Timeline(), Short: lease.Short,
		Announced: lease.Announced, Groups: make([]LeasedGroup, len(lease.Groups)),
	}
	for i, g := range lease.Groups {
		out.Groups[i] = s.leased(g)
	}
	return out
}

func (s *Scheduler) leased(g *leases.Group) LeasedGroup {
	oldest, newest, _ := g.Versions()
	return LeasedGroup{
		Receipt: s.ledger.Receipt(g), Handle: g.Handle(), Holder: g.Worker(), Samples: g.Samples(), Tokens: g.Tokens(),
		MinVersion: oldest, MaxVersion: newest, Columns: s.columnsOf(g),
	}
}

// DiscardGroups takes groups out of a lease before it is published and settles them as discarded; the lease gets
// other groups instead, or with shorter none. Answer: the Lease, when it is full again (or Short). One that has no group left, and
// can get none, is rolled back. Errors: ErrStale, ErrUnknown, ErrConflict, ErrRefused (shorter, and nothing would be left).
func (s *Scheduler) DiscardGroups(t Ticket, admission uint64, groups []int64, reason string, shorter bool) {
	if err := s.openErr(); err != nil {
		s.answer(t, nil, err)
		return
	}
	lease, err := s.openLease(admission)
	if err != nil {
		s.answer(t, nil, err)
		return
	}
	if err := s.ledger.CheckLeased(lease, groups); err != nil {
		s.answer(t, nil, err)
		return
	}
	rest := len(lease.Groups)
	for _, g := range lease.Groups {
		if slices.Contains(groups, g.ID()) {
			rest--
		}
	}
	if shorter && rest == 0 {
		s.answer(t, nil, fmt.Errorf("%w: admission %d of rollout %d has %d groups, and all are to be discarded without others in their place; let it be refilled, or roll it back", leases.ErrRefused, admission, lease.Rollout, len(lease.Groups)))
		return
	}
	for _, g := range lease.Groups {
		if slices.Contains(groups, g.ID()) {
			s.releaseGroup(g)
			s.unhold(g)
		}
	}
	s.must(s.ledger.DiscardLeased(lease, groups, reason))
	have, batch := tally(lease.Groups), s.cfg.batch()
	lease.Short = lease.Short || shorter && !full(have, batch)
	w := s.refilling(lease) // of a discard before this one
	switch {
	case full(have, batch) || shorter:
		if w != nil {
			s.takes = slices.DeleteFunc(s.takes, func(o *take) bool { return o == w })
			s.answerAll(w.tickets, s.leaseAnswer(lease), nil)
		}
		s.answer(t, s.leaseAnswer(lease), nil)
	case w != nil:
		w.want = left(have, batch)
		w.tickets = append(w.tickets, t)
	default:
		s.takes = append([]*take{{tickets: []Ticket{t}, session: lease.Holder, rollout: lease.Rollout, want: left(have, batch), refill: lease}}, s.takes...)
	}
	s.pump()
}

// refilling is the wait for other groups in place of those that a lease lost, nil when there is none.
func (s *Scheduler) refilling(lease *leases.Lease) *take {
	for _, t := range s.takes {
		if t.refill == lease {
			return t
		}
	}
	return nil
}

// openLease finds an unsettled lease or says why there is none.
func (s *Scheduler) openLease(admission uint64) (*leases.Lease, error) {
	lease, status, err := s.ledger.FindLease(admission)
	if err == nil && lease == nil {
		err = s.ledger.Settlement(status)
	}
	return lease, err
}
