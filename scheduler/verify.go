package scheduler

import (
	"fmt"

	"outrider/leases"
)

// Verify recounts everything from the ledger and reports the first difference.
func (s *Scheduler) Verify() error {
	if s.ledger == nil || s.dead != nil {
		return nil
	}
	if err := s.ledger.Verify(); err != nil {
		return err
	}
	samples, dispatched, live := int64(0), int64(0), 0
	charged, stuck := map[*member]int64{}, map[*member]int64{}
	promised, allStuck := map[*host]int64{}, int64(0)
	for e := range s.running.all() {
		samples += e.charged
		charged[e.m] += e.charged
		promised[e.m.host] += e.counted()
		if e.stuck {
			stuck[e.m] += e.charged
			allStuck += e.charged
			if e.group != nil {
				return fmt.Errorf("scheduler: execution %d is stuck and has group %d", e.receipt.Execution, e.group.ID())
			}
		}
		if e.group != nil {
			live++
			if !e.adopted {
				dispatched += e.charged
			}
			if e.group.State() != leases.Executing || s.ledger.Receipt(e.group) != e.receipt {
				return fmt.Errorf("scheduler: execution %d runs a group that is %s", e.receipt.Execution, e.group.State())
			}
		}
		if e.charged < 0 || e.charged > int64(s.cfg.GroupSize) {
			return fmt.Errorf("scheduler: execution %d is charged %d samples", e.receipt.Execution, e.charged)
		}
	}
	if samples != s.running.samples || live != s.running.live {
		return fmt.Errorf("scheduler: executing is counted as %d samples of %d groups, recounted %d of %d", s.running.samples, s.running.live, samples, live)
	}
	if allStuck != s.running.stuck {
		return fmt.Errorf("scheduler: %d samples are stuck, recounted %d", s.running.stuck, allStuck)
	}
	if n := int64(len(s.rests.due) + len(s.lastChance)); n != s.ledger.Resting() {
		return fmt.Errorf("scheduler: %d groups rest, %d of them have something to wake them", s.ledger.Resting(), n)
	}
	if n := s.ledger.Count(leases.Executing); n != int64(live) {
		return fmt.Errorf("scheduler: %d groups are EXECUTING, %d executions have one", n, live)
	}
	if err := s.verifyPools(); err != nil {
		return err
	}
	if err := s.verifyAdded(); err != nil {
		return err
	}
	for _, h := range s.hosts {
		if h.promised != promised[h] {
			return fmt.Errorf("scheduler: host %s has promised %d bytes, recounted %d", h.name, h.promised, promised[h])
		}
	}
	if err := s.verifyHolding(); err != nil {
		return err
	}
	for _, m := range s.workers {
		if m.stuck != stuck[m] {
			return fmt.Errorf("scheduler: worker %s has %d samples stuck, recounted %d", m.session, m.stuck, stuck[m])
		}
		if m.charged != charged[m] {
			return fmt.Errorf("scheduler: worker %s is charged %d samples, recounted %d", m.session, m.charged, charged[m])
		}
	}
	if err := s.verifyStages(); err != nil {
		return err
	}
	if n := s.ledger.Count(leases.Completed); n != int64(s.buffer.n) {
		return fmt.Errorf("scheduler: %d groups are COMPLETED, the buffer has %d", n, s.buffer.n)
	}
	if err := s.buffer.verify(); err != nil {
		return err
	}
	return s.verifyBounds(dispatched)
}

// verifyHolding checks that every list of what a member holds has groups of its own, or that it keeps for workers that are gone.
func (s *Scheduler) verifyHolding() error {
	for _, m := range s.order {
		for g := range m.holding.all() {
			if s.holder(g) != m {
				return fmt.Errorf("scheduler: group %d (%s, of %s) is in the list of what %s holds", g.ID(), g.State(), g.Worker(), m.session)
			}
		}
	}
	return nil
}

// verifyBounds checks what no event may exceed. Adopted and void work, and limits that shrank with their workers, may:
// they are over already when they come. dispatched counts the samples that run and were dispatched here.
func (s *Scheduler) verifyBounds(dispatched int64) error {
	if s.cfg.Unowned {
		return nil
	}
	if full := s.ledger.Count(leases.Completed) + s.ledger.Count(leases.Leased); s.cfg.Limits.Completed > 0 && !s.cfg.Policy.waits() && full > s.cfg.Limits.Completed {
		return fmt.Errorf("scheduler: %d groups are COMPLETED or LEASED, completed=%d", full, s.cfg.Limits.Completed)
	}
	if s.cfg.Limits.Executing > 0 && dispatched > s.cfg.Limits.Executing {
		return fmt.Errorf("scheduler: %d samples are executing, executing=%d", dispatched, s.cfg.Limits.Executing)
	}
	if s.stats.Adopted > 0 {
		return nil
	}
	if s.cfg.Limits.Retained > 0 && s.ledger.Live() > s.cfg.Limits.Retained {
		return fmt.Errorf("scheduler: %d groups are retained, retained=%d", s.ledger.Live(), s.cfg.Limits.Retained)
	}
	return nil
}

func (s *Scheduler) verifyAdded() error {
	for _, a := range s.additions {
		if s.trained != nil && a.lease.Rollout < s.trained.Rollout {
			return fmt.Errorf("scheduler: columns of rollout %d are kept, and rollout %d is committed", a.lease.Rollout, s.trained.Rollout)
		}
	}
	return nil
}
