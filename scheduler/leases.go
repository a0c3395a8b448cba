package scheduler

import (
	"fmt"

	"outrider/leases"
)

// Publish fixes the publication of a lease. Publishing the same again gives the same; publishing something else
// is refused unless the cohort has changed since. Errors: ErrStale, ErrUnknown, ErrRefused, ErrConflict, ErrCohortChanged.
func (s *Scheduler) Publish(admission uint64, p PublishRequest) (Publication, error) {
	if err := s.openErr(); err != nil {
		return Publication{}, err
	}
	if s.cfg.Unowned {
		f, err := s.final(admission)
		if err != nil {
			return Publication{}, err
		}
		return leases.NewPublication(admission, f.answer.Rollout, s.ledger.Timeline(), p), nil
	}
	if p.Generation < s.cohort.generation {
		return Publication{}, fmt.Errorf("%w: admission %d is to be published to generation %d, the cohort is of generation %d; publish it to that", leases.ErrCohortChanged, admission, p.Generation, s.cohort.generation)
	}
	lease, err := s.openLease(admission)
	if err != nil {
		return Publication{}, err
	}
	if w := s.refilling(lease); w != nil {
		return Publication{}, fmt.Errorf("%w: admission %d of rollout %d waits for other groups in place of discarded ones; publish it when it has them, or discard with nothing in their place", leases.ErrConflict, admission, lease.Rollout)
	}
	changed := lease.Publication() != nil && lease.State() != leases.LeaseCommitting && s.changed(lease) != nil
	published, err := s.ledger.Publish(admission, p, changed)
	if err != nil {
		return Publication{}, err
	}
	return *published, nil
}

// changed says which rank of a published lease is not the one any more that it was published to or admitted by.
func (s *Scheduler) changed(lease *leases.Lease) error {
	if p := lease.Publication(); p.Request.Generation < s.cohort.generation {
		return fmt.Errorf("%w: admission %d was published to generation %d, the cohort is of generation %d; publish it again or roll it back", leases.ErrCohortChanged, lease.Admission, p.Request.Generation, s.cohort.generation)
	}
	for _, session := range lease.Admitted() {
		if m := s.members[session]; m == nil || m.trainer == nil {
			return fmt.Errorf("%w: session %s, which admitted admission %d of rollout %d, is gone; publish it again or roll it back", leases.ErrCohortChanged, session, lease.Admission, lease.Rollout)
		}
	}
	return nil
}

// Admit records one rank's admission; repeating it is harmless.
// Errors: ErrStale, ErrUnknown, ErrRefused (other digest, foreign rank, weights that are not what the run is at), ErrCohortChanged.
func (s *Scheduler) Admit(a AdmitRequest) error {
	if err := s.openErr(); err != nil {
		return err
	}
	if s.cfg.Unowned {
		_, err := s.final(a.Admission)
		return err
	}
	rank := leases.Rank{Role: a.Role, Rank: a.Rank}
	m := s.members[a.Session]
	if m == nil || m.trainer == nil || m.rank() != rank {
		return fmt.Errorf("%w: session %s is not attached as %s", leases.ErrRefused, a.Session, rank)
	}
	if !m.decided {
		return fmt.Errorf("%w: %s cannot admit before every rank of generation %d has attached: what its weights contain is not weighed yet", leases.ErrNotAdmitted, rank, s.cohort.generation)
	}
	if err := s.said(m); err != nil {
		return err
	}
	return s.ledger.Admit(a)
}

// consumed counts one trained group: its staleness in versions, its length, its way here.
func (s *Scheduler) consumed(g *leases.Group, announced int64) {
	oldest, _, _ := g.Versions()
	staleness := announced - oldest
	s.step.Consumed++
	s.step.StalenessSum += staleness
	s.step.StalenessMax = max(s.step.StalenessMax, staleness)
	s.stats.TrainedTokens.add(g.Tokens())
	s.countRequeues(g)
	s.stats.StalenessSum += staleness
	s.stats.StalenessCount++
	s.stats.StalenessMax = max(s.stats.StalenessMax, staleness)
}

// countRequeues counts a group that has come to its end by how often it had been too stale.
func (s *Scheduler) countRequeues(g *leases.Group) {
	h := &s.stats.StaleRequeues
	h[min(g.Requeues(), len(h)-1)]++
}

// Rollback returns every group of a lease to the source. The answer is the recorded state of the lease: a committed
// one stays committed. Errors: ErrUnknown, ErrConflict while it is COMMITTING.
func (s *Scheduler) Rollback(admission uint64, reason string) (LeaseStatus, error) {
	if err := s.readyErr(); err != nil {
		return LeaseStatus{}, err
	}
	if s.cfg.Unowned {
		f, err := s.final(admission)
		if err != nil {
			return LeaseStatus{}, err
		}
		s.dropFinal(f.answer.Rollout)
		return LeaseStatus{Admission: admission, Rollout: f.answer.Rollout, State: LeaseCommitted}, nil
	}
	lease, status, err := s.ledger.FindLease(admission)
	if err != nil || lease == nil {
		return status, err
	}
	if lease.State() == leases.LeaseCommitting {
		return status, fmt.Errorf("%w: admission %d of rollout %d is COMMITTING; its commit decides", leases.ErrConflict, admission, lease.Rollout)
	}
	s.rollback(lease, reason, nil)
	s.pump()
	return lease.Status(), nil
}

// rollback returns a lease's groups to the source. cause, when not nil, is what later calls on it are told.
func (s *Scheduler) rollback(lease *leases.Lease, reason string, cause error) {
	s.giveBack(lease)
	to := append([]leases.Session{lease.Holder}, lease.Admitted()...)
	s.dropRefill(lease, reason)
	s.ledger.Rollback(lease, reason, cause)
	delete(s.additions, lease.Admission)
	s.log(Info, "rolled back", "rollout", lease.Rollout, "admission", lease.Admission, "reason", reason)
	s.emit(Revoked{Sessions: to, Admission: lease.Admission, Rollout: lease.Rollout, Err: cause})
}

// dropRefill ends a wait for groups in place of discarded ones.
func (s *Scheduler) dropRefill(lease *leases.Lease, reason string) {
	for i, t := range s.takes {
		if t.refill == lease {
			t.fail(s, fmt.Errorf("%w: admission %d of rollout %d was rolled back (%s); take the rollout again", leases.ErrStale, lease.Admission, lease.Rollout, reason))
			s.takes = append(s.takes[:i], s.takes[i+1:]...)
			return
		}
	}
}

// giveBack frees the data of a lease's groups: they are about to go back to the source.
func (s *Scheduler) giveBack(lease *leases.Lease) {
	for _, g := range lease.Groups {
		s.stats.Requeued++
		s.releaseGroup(g)
		s.unhold(g)
	}
}

// Unsettled says why a lease cannot be worked on any more, nil while it can. Errors: ErrStale or what revoked it, ErrUnknown.
func (s *Scheduler) Unsettled(admission uint64) error {
	if err := s.readyErr(); err != nil {
		return err
	}
	if s.cfg.Unowned {
		_, err := s.final(admission)
		return err
	}
	_, err := s.openLease(admission)
	return err
}

// LeaseStatus answers what became of a lease. Errors: ErrUnknown (older than the retained history, or never given).
func (s *Scheduler) LeaseStatus(admission uint64) (LeaseStatus, error) {
	if err := s.readyErr(); err != nil {
		return LeaseStatus{}, err
	}
	if s.cfg.Unowned {
		f, err := s.final(admission)
		if err != nil {
			return LeaseStatus{}, err
		}
		return LeaseStatus{Admission: admission, Rollout: f.answer.Rollout, State: LeaseCommitted}, nil
	}
	_, status, err := s.ledger.FindLease(admission)
	return status, err
}
