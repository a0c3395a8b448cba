package scheduler

import (
	"fmt"

	"outrider/leases"
)

// waitingCommit is a commit that waits for the leases of lower rollouts.
type waitingCommit struct {
	ticket    Ticket
	admission uint64
	alone     bool
	below     int64 // the highest of those rollouts
}

// Commit waits until every admitted rank has the entry in its log. Answer: LeaseStatus with LeaseCommitted; also for
// a commit that was answered before. Errors: ErrStale (rolled back or void: take again), ErrUnknown, ErrNotAdmitted,
// ErrCohortChanged, ErrConflict (a lower rollout is open: with Policy.WaitCommit it waits for that, and is refused when that is rolled
// back), ErrLost.
func (s *Scheduler) Commit(t Ticket, admission uint64) {
	if s.later(t, func() { s.Commit(t, admission) }) {
		return
	}
	if err := s.commit(t, admission, false); err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

// CommitAdmitted is Admit followed by Commit in one event, for a lease that one rank alone is to admit. Its entry is the
// answer as well (Append.Decides): what a log holds is committed, whoever is lost, so the only rank that has to hold it
// trains as soon as it does, and says so afterwards. Repeating it is harmless. Answer and errors as of Admit and Commit;
// also ErrRefused (more ranks are to admit).
func (s *Scheduler) CommitAdmitted(t Ticket, a AdmitRequest) {
	if s.later(t, func() { s.CommitAdmitted(t, a) }) {
		return
	}
	err := s.admitAlone(a)
	if err == nil {
		err = s.commit(t, a.Admission, true)
	}
	if err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

// admitAlone admits unless the commit has begun.
func (s *Scheduler) admitAlone(a AdmitRequest) error {
	if s.dead != nil {
		return s.dead
	}
	lease, _, err := s.ledger.FindLease(a.Admission)
	if s.cfg.Unowned || err == nil && (lease == nil || lease.State() == leases.LeaseCommitting) {
		return nil // commit says what became of it
	}
	if err != nil {
		return err
	}
	if pub := lease.Publication(); pub != nil && (len(pub.Request.Roles) != 1 || pub.Request.Roles[0].WorldSize != 1) {
		return fmt.Errorf("%w: admission %d is published to more ranks than one: let each admit, then commit", leases.ErrRefused, a.Admission)
	}
	return s.Admit(a)
}

func (s *Scheduler) commit(t Ticket, admission uint64, alone bool) error {
	if s.dead != nil {
		return s.dead
	}
	if s.cfg.Unowned {
		f, err := s.final(admission)
		if err != nil {
			return err
		}
		s.answer(t, LeaseStatus{Admission: admission, Rollout: f.answer.Rollout, State: LeaseCommitted}, nil)
		s.dropFinal(f.answer.Rollout)
		return nil
	}
	lease, status, err := s.ledger.FindLease(admission)
	switch {
	case err != nil:
		return err
	case lease == nil && status.State == LeaseCommitted:
		s.answer(t, status, nil)
		return nil
	case lease == nil:
		return s.ledger.Settlement(status)
	case lease.State() == leases.LeaseCommitting:
		for _, r := range s.replicating {
			if r.lease == lease {
				r.tickets = append(r.tickets, t)
			}
		}
		return nil
	case s.closing != nil:
		return s.closing.why("closing")
	case lease.Publication() != nil:
		if err := s.changed(lease); err != nil {
			return err
		}
	}
	if below, open := s.openBelow(lease.Rollout); open && s.cfg.Policy.WaitCommit {
		s.commits = append(s.commits, waitingCommit{ticket: t, admission: admission, alone: alone, below: below})
		return nil
	}
	lease, entry, err := s.ledger.StartCommit(admission)
	if err != nil {
		return err
	}
	r := &replication{entry: entry, lease: lease, alone: alone, tickets: []Ticket{t}}
	r.done = func() { s.finishCommit(r) }
	s.replicate(r)
	return nil
}

// finishCommit acknowledges a lease whose entry every admitted rank has, and frees what its groups held.
func (s *Scheduler) finishCommit(r *replication) {
	lease := r.lease
	admitted, rollout := lease.Admitted(), lease.Rollout
	announced := s.ledger.Version()
	for _, g := range lease.Groups {
		s.consumed(g, announced)
		s.releaseGroup(g)
		s.unhold(g)
	}
	s.ledger.FinishCommit(lease)
	s.outliveCommit(lease)
	var behind []*member
	for _, m := range s.cohort.members() {
		switch by, required := lease.AdmittedBy(m.rank()); {
		case !m.decided:
		case required && by != m.session && m.stateAt < rollout:
			behind = append(behind, m) // it attached while the commit was in doubt, and was answered nothing
		default:
			m.stateAt = rollout
		}
	}
	s.emit(Committed{Sessions: admitted, Admission: lease.Admission, Rollout: rollout})
	s.log(Info, "committed", "rollout", rollout, "admission", lease.Admission)
	s.answerAll(r.tickets, lease.Status(), nil)
	for _, m := range behind {
		s.expel(m, fmt.Errorf("%w: rollout %d is committed by the logs of the other ranks; %s came back with weights of rollout %d while that was in doubt: load the same checkpoint in every rank",
			leases.ErrCohortChanged, rollout, m.rank(), m.stateAt))
	}
}

// openBelow is the highest rollout below one that has an open lease.
func (s *Scheduler) openBelow(rollout int64) (below int64, open bool) {
	for _, lease := range s.ledger.OpenLeases() {
		if lease.Rollout < rollout {
			below, open = lease.Rollout, true
		}
	}
	return below, open
}

// serveCommits begins the commits whose turn has come, and ends those whose lease or turn is lost. It reports whether there were any.
func (s *Scheduler) serveCommits() bool {
	waiting := s.commits
	s.commits = nil
	for _, c := range waiting {
		lease, err := s.openLease(c.admission)
		if err == nil {
			if _, open := s.openBelow(lease.Rollout); open {
				s.commits = append(s.commits, c)
				continue
			}
			if last := s.ledger.LastRollout(); last < c.below {
				err = fmt.Errorf("%w: rollout %d waited for rollout %d, which was rolled back; take that again before rollout %d is committed, or commit without it", leases.ErrConflict, lease.Rollout, c.below, lease.Rollout)
			} else {
				err = s.commit(c.ticket, c.admission, c.alone)
			}
		}
		if err != nil {
			s.answer(c.ticket, nil, err)
		}
	}
	return len(s.commits) < len(waiting)
}

// failCommits ends the commits that wait.
func (s *Scheduler) failCommits(err error) {
	for _, c := range s.commits {
		s.answer(c.ticket, nil, err)
	}
	s.commits = nil
}
