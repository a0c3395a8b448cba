package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// final is a batch of a run with ownership="none": its groups are settled, its data is kept until the trainer has it.
type final struct {
	Holder leases.Session
	answer Lease
}

// takeFinal settles a batch as trained the moment it is taken.
func (s *Scheduler) takeFinal(t *take, groups []*leases.Group, short bool) Lease {
	announced := s.ledger.Version()
	out := Lease{Rollout: t.rollout, Timeline: s.ledger.Timeline(), Short: short, Announced: announced, Final: true}
	for _, g := range groups {
		out.Groups = append(out.Groups, s.leased(g))
		s.consumed(g, announced)
		s.unhold(g)
	}
	sortLeased(out.Groups)
	out.Admission = s.ledger.TakeFinal(t.rollout, groups)
	s.finals[t.rollout] = &final{Holder: t.session, answer: out}
	return out
}

// final finds a taken batch by its admission.
func (s *Scheduler) final(admission uint64) (*final, error) {
	for _, f := range s.finals {
		if f.answer.Admission == admission {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: admission %d is not held (ownership=\"none\": a take is final); take the next rollout", leases.ErrUnknown, admission)
}

// tookFinal reports whether data was taken and is kept until the trainer has it.
func (s *Scheduler) tookFinal(h leases.Handle) bool {
	for _, f := range s.finals {
		if slices.ContainsFunc(f.answer.Groups, func(g LeasedGroup) bool { return g.Handle == h }) {
			return true
		}
	}
	return false
}

// dropFinal frees the data of a taken batch.
func (s *Scheduler) dropFinal(rollout int64) {
	f := s.finals[rollout]
	delete(s.finals, rollout)
	for _, g := range f.answer.Groups {
		s.release(g.Receipt, g.Handle)
	}
}
