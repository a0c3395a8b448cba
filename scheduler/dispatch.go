package scheduler

import (
	"maps"
	"slices"

	"outrider/leases"
)

// pump carries the run as far as it goes after an event.
func (s *Scheduler) pump() {
	if s.dead != nil {
		return
	}
	s.checkFrontiers()
	switch {
	case s.closing != nil:
		s.finishClose()
	case s.ledger != nil:
		for s.serveCommits() || s.servePushes() || s.promote() || s.serveTakes() {
		}
		s.serveStages()
		s.serveCredits()
		s.dispatch()
		s.pull()
		s.finishRun()
		s.sayWaits()
	}
	if s.cfg.Verify {
		if err := s.Verify(); err != nil {
			panic(err)
		}
	}
}

// promote gives waiting TERMINAL groups places in the buffer. It reports whether any moved.
func (s *Scheduler) promote() bool {
	moved := false
	for s.waiting.first != nil {
		if s.ledger.Count(leases.Completed)+s.ledger.Count(leases.Leased) >= s.places() {
			if s.cfg.Policy.Full != FullEvict || s.buffer.stalest() == nil {
				break
			}
			s.evict(s.buffer.stalest(), s.waiting.first)
			moved = true
			continue
		}
		g := s.waiting.first
		s.waiting.remove(g)
		s.ledger.Complete(g)
		s.buffer.push(g)
		moved = true
	}
	return moved
}

// places is how many groups the buffer holds. Where a batch waits for certain groups every live one needs a place, also those
// that no bound kept out: what a former life began, or what began before workers took their slots away.
func (s *Scheduler) places() int64 {
	if !s.cfg.Policy.waits() {
		return s.limits.Completed
	}
	return s.limits.Completed + max(0, s.ledger.Live()-s.limits.Retained)
}

// wakeFirst sends out the groups that wait for a version to start with, lowest first.
func (s *Scheduler) wakeFirst() {
	for _, id := range slices.Sorted(maps.Keys(s.lastChance)) {
		s.ledger.WakeFirst(id)
	}
	clear(s.lastChance)
}

// discard settles a COMPLETED group without training.
func (s *Scheduler) discard(g *leases.Group, reason string) {
	s.takeOut(g)
	s.releaseGroup(g)
	s.unhold(g)
	s.must(s.ledger.Discard(reason, s.ledger.Receipt(g)))
}

// takeOut removes a TERMINAL or COMPLETED group from the orders that it is in.
func (s *Scheduler) takeOut(g *leases.Group) {
	switch g.State() {
	case leases.Terminal:
		if st := s.unfinished(g); st != nil {
			s.recall(st)
			return
		}
		s.waiting.remove(g)
	case leases.Completed:
		s.buffer.remove(g)
	}
}

// requeue returns a TERMINAL or COMPLETED group, already taken out, to the source by its receipt.
func (s *Scheduler) requeue(g *leases.Group) {
	s.stats.Requeued++
	s.releaseGroup(g)
	s.unhold(g)
	s.must(s.ledger.Requeue(s.ledger.Receipt(g)))
}

// unhold takes a group off the list of its holder.
func (s *Scheduler) unhold(g *leases.Group) {
	if m := s.holder(g); m != nil {
		s.unlist(g)
		s.checkDrained(m)
	}
}

// dispatch reserves groups and gives them to workers until a bound is met.
func (s *Scheduler) dispatch() {
	s.serveOffers()
	if len(s.holds) > 0 || !s.granting {
		return
	}
	if !s.ledger.Available() {
		s.wakeFirst() // no version may come without them
	}
	gs := int64(s.cfg.GroupSize)
	for s.ledger.Available() && !s.paced() {
		if s.cfg.Unowned {
			if s.waiting.n > 0 {
				return
			}
		} else if s.running.samples-s.running.stuck+gs > s.limits.Executing || s.ledger.Live() >= s.limits.Retained {
			return
		}
		m := s.freest(false)
		if m == nil && s.starving() {
			if m = s.freest(true); m != nil {
				s.overdraw(m)
			}
		}
		if m == nil {
			return
		}
		g := s.ledger.ReserveNext()
		if s.refuseWrong(g) {
			if s.closing != nil {
				return // it was one too many
			}
			continue
		}
		r := s.ledger.Dispatch(g, m.session)
		e := s.begin(m, g, r)
		s.stats.Dispatched++
		s.emit(Grant{Session: m.session, Assignment: s.assignment(e)})
	}
}

func (s *Scheduler) assignment(e *running) Assignment {
	return Assignment{Receipt: e.receipt, Row: s.cfg.Source.Row(e.group.ID()), Pushed: s.ledger.Pushed(e.group.ID()), GroupSize: s.cfg.GroupSize, Version: e.group.Charged(), Promise: e.promised}
}

// freest returns the worker with the most free sample slots that may get a group, the earliest attached among equals.
func (s *Scheduler) freest(overdraw bool) *member {
	var best *member
	for _, m := range s.workers {
		if !s.eligible(m) || !overdraw && !s.bytesFree(m.host) {
			continue
		}
		if best == nil || m.free() > best.free() {
			best = m
		}
	}
	return best
}

// eligible reports whether a worker may get a group: its slots are free, and its weights are the announced ones.
func (s *Scheduler) eligible(m *member) bool {
	if m.worker.Slots == 0 || m.draining || m.mostlyStuck() || s.crowded(m) || !s.current(m) {
		return false
	}
	// A worker with fewer places than a group has samples runs one group at a time, in waves.
	return m.free() >= int64(s.cfg.GroupSize) || m.charged == m.stuck
}

// bytesFree reports whether a host has room for what its running groups and one more may write. New work does not overtake
// what is finished and waits to be written.
func (s *Scheduler) bytesFree(h *host) bool {
	limit := s.bytesLimit(h)
	return limit == 0 || len(h.credits) == 0 && h.written+h.promised+h.largest <= limit
}

// starving reports whether a waiting take can be filled by nothing but a group that is yet to be reserved.
func (s *Scheduler) starving() bool {
	return len(s.takes) > 0 && s.running.live == 0 && s.waiting.n+s.stages.n == 0 && s.incomplete(s.takes[0].want)
}

func (s *Scheduler) overdraw(m *member) {
	s.stats.Overdrawn++
	if s.stats.Overdrawn == 1 {
		s.log(Warn, "bytes overdrawn for the oldest group that a waiting take or hold needs; raise bytes", "host", m.host.name,
			"written", m.host.written, "largest_group", m.host.largest, "bytes", s.bytesLimit(m.host), "batch_groups", s.cfg.BatchGroups)
	}
}

// finishRun ends a finite run when everything has settled.
func (s *Scheduler) finishRun() {
	if !s.ledger.Exhausted() || len(s.replicating) > 0 {
		return
	}
	for _, t := range s.takes {
		t.fail(s, s.endOfRun())
	}
	s.takes = nil
	if !s.ended {
		s.ended = true
		s.logBooks("end of run")
		s.emit(Ended{Err: leases.ErrEndOfRun, Answers: true})
	}
}
