package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// Rewind goes back to the weights of rollout R. Answer: RewindReport. Errors: ErrState (below the saved base, above
// the last commit), ErrConflict (a commit is being replicated), ErrRefused (by policy or ownership).
func (s *Scheduler) Rewind(t Ticket, r int64) {
	if s.later(t, func() { s.Rewind(t, r) }) {
		return
	}
	err := s.openErr()
	if err == nil {
		err = s.rewind(r, []Ticket{t}, func(report RewindReport) { s.answer(t, report, nil) })
	}
	if err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

// rewind undoes everything after a rollout; then, when not nil, is called when the trainers' logs have it and answers
// the tickets.
func (s *Scheduler) rewind(r int64, tickets []Ticket, then func(RewindReport)) error {
	if err := s.ledger.CanRewind(r); err != nil {
		return err
	}
	for _, p := range s.replicating {
		if p.lease != nil {
			return fmt.Errorf("%w: rollout %d is being committed (admission %d); rewind when that is decided", leases.ErrConflict, p.lease.Rollout, p.lease.Admission)
		}
	}
	for _, lease := range s.ledger.OpenLeases() {
		s.rollback(lease, fmt.Sprintf("the run rewound to rollout %d", r), nil)
	}
	s.trained, s.additions = nil, map[uint64]*addition{}
	carried := s.carries(r)
	s.outdate(r)
	for _, g := range s.ledger.Groups() {
		if carried[g.ID()] || g.State().Leaves() {
			continue
		}
		switch g.State() {
		case leases.Terminal, leases.Completed:
			s.takeOut(g)
			s.releaseGroup(g)
			s.unhold(g)
		case leases.Executing:
			s.void(s.running.find(s.ledger.Receipt(g)))
		}
		s.stats.Requeued++
	}
	before := s.ledger.Timeline()
	s.highest = max(s.highest, s.ledger.LastRollout())
	done, err := s.ledger.Rewind(r, func(g *leases.Group) bool { return carried[g.ID()] })
	s.must(err)
	s.rests = rests{}
	clear(s.lastChance)
	s.stats.Rewinds++
	version := s.ledger.Version()
	for _, m := range s.cohort.members() {
		m.unsaid = m.unsaid || m.stateAt > r
		m.stateAt = min(m.stateAt, r)
	}
	report := RewindReport{Rollout: r, Timeline: s.ledger.Timeline(), Version: version, Replay: done.Replay, RolledBack: done.RolledBack}
	s.log(Warn, "rewound", "rollout", r, "replay_groups", done.Replay, "carried_over", done.Carried, "version", version, "timeline", report.Timeline)
	s.newTimeline()
	s.carryOver(before)
	s.emit(Announced{Version: version})
	s.outdateOffers(version)
	s.ended = false
	s.dropTakes()
	s.replicate(&replication{entry: done.Entry, tickets: tickets, done: func() {
		if then != nil {
			then(report)
		}
	}})
	return nil
}

// State returns the bytes of the cut at rollout R. Errors: ErrConflict (a lease of a rollout <= R is open; R is not
// committed), ErrState (R is below the saved base).
func (s *Scheduler) State(r int64) ([]byte, error) {
	if err := s.readyErr(); err != nil {
		return nil, err
	}
	return s.ledger.State(r)
}

// Saved says that the state of R is durable in a checkpoint: the base moves to R. Errors: ErrConflict (R never given).
func (s *Scheduler) Saved(r int64) error {
	if err := s.readyErr(); err != nil {
		return err
	}
	if err := s.ledger.Saved(r); err != nil {
		return err
	}
	s.letGo()
	state, rollout, index := s.ledger.Base()
	var to []leases.Session
	for _, m := range s.logged() {
		if m.baseIndex < index {
			m.baseIndex = index
			to = append(to, m.session)
		}
	}
	if len(to) > 0 {
		s.emit(SetBase{Sessions: to, R: rollout, Index: index, State: state})
	}
	return nil
}

// readyErr refuses calls that need a ledger; they are still answered while the run closes.
func (s *Scheduler) readyErr() error {
	switch {
	case s.dead != nil:
		return s.dead
	case s.ledger == nil:
		return s.notReady("this call")
	}
	return nil
}

func sortLeased(groups []LeasedGroup) {
	slices.SortFunc(groups, func(a, b LeasedGroup) int { return int(a.Receipt.Group - b.Receipt.Group) })
}
