package scheduler

import (
	"fmt"

	"outrider/leases"
)

// Restored says that a rank's weights contain everything up to a rollout, and nothing after it: the word of the process itself,
// which a rewind cannot stand for. It may come before the run goes back: behind says that the run is at a later rollout yet.
// Then the rank trains nothing before the run is at this one, too. digest may be nil; else it has to be that of the version that was
// recorded for exactly this rollout, where that has one.
// Errors: ErrRefused (no trainer rank; a rollout that is not committed; other weights), ErrConflict (a commit is being replicated).
func (s *Scheduler) Restored(session leases.Session, rollout int64, digest []byte) (behind bool, err error) {
	if err := s.readyErr(); err != nil {
		return false, err
	}
	m := s.members[session]
	if m == nil || m.trainer == nil {
		return false, fmt.Errorf("%w: session %s is no trainer rank; its weights are not the run's", leases.ErrRefused, session)
	}
	if s.cfg.Unowned {
		return false, nil
	}
	last := s.ledger.LastRollout()
	if rollout < -1 || rollout > last {
		return false, fmt.Errorf("%w: %s says that its weights are of rollout %d, the run is at %d: load weights of rollout %d, or attach with the state of that checkpoint", leases.ErrRefused, m.rank(), rollout, last, last)
	}
	for _, r := range s.replicating {
		if r.lease != nil && rollout < last {
			return false, fmt.Errorf("%w: rollout %d is being committed (admission %d); say what the weights contain when that is decided", leases.ErrConflict, r.lease.Rollout, r.lease.Admission)
		}
	}
	if version, want := s.ledger.DigestAt(rollout); otherWeights(digest, want) {
		return false, fmt.Errorf("%w: %s says that its weights of rollout %d have digest %q, those of version %d, which is of that rollout, have %q; load these", leases.ErrRefused, m.rank(), rollout, digest, version, want)
	}
	m.stateAt, m.unsaid = rollout, false
	return rollout < last, nil
}

// said refuses a rank whose weights are not known to be those that the run is at.
func (s *Scheduler) said(m *member) error {
	if m.trainer == nil || !m.decided || s.cfg.Unowned {
		return nil
	}
	last := s.ledger.LastRollout()
	switch {
	case m.unsaid:
		return fmt.Errorf("%w: the run went back to rollout %d, and %s has not said so of its weights; load those of rollout %d and call its Trainer.restored(%d)", leases.ErrRefused, last, m.rank(), last, last)
	case m.stateAt < last:
		return fmt.Errorf("%w: %s has gone back to rollout %d and the run is at %d; rewind the run to %d", leases.ErrRefused, m.rank(), m.stateAt, last, m.stateAt)
	}
	return nil
}
