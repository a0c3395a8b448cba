package scheduler

import (
	"math/bits"

	"outrider/leases"
)

// Stats is what a status screen shows. Taking it costs the same at any number of groups.
type Stats struct {
	Term        leases.Term
	Timeline    leases.Timeline
	Announced   int64
	NextRollout int64
	Unowned     bool
	// Recovering is set while a later life waits for its base or its join window.
	Recovering bool
	Closing    bool
	// Groups by state.
	Reserved, Executing, Terminal, Completed, Leased int64
	// Of a pulled source: on their way back to it, and those that could not get there.
	Returning, RollbackFailed int64
	// Cursor counts the groups that were ever reserved, Replay those of them that are back in the source.
	Cursor, Replay int64
	// Used and Limits of the bounds; a derived limit shows its present value, one that is off 0. Bytes is of the fullest host.
	ExecutingSamples, Retained, Buffered, Bytes int64
	Limits                                      Limits
	Books                                       leases.Books
	Workers, Engines, Unconfirmed, Trainers     int
	OpenLeases, WaitingTakes, Holds             int
	// WaitingCredits counts the producers that wait for bytes.
	WaitingCredits int
	// WaitsFor says what the first waiting take lacks when nothing that runs will bring it; else empty.
	WaitsFor string
	// Counters over this life of the owner.
	// Stuck counts samples that their workers did not end when told to, Resting the groups that wait before they go out
	// again, because their executions were lost one after the other.
	Stuck, Resting int64
	// Orphans counts samples that lost workers ran on engines elsewhere, which may run them still.
	Orphans int64
	// Interrupted counts executions lost with their worker or to their deadline, over this life of the owner.
	Interrupted int64
	// Kept counts finished groups that a second process came to hold, Rescued those of them whose worker was lost before they had settled.
	Kept, Rescued                                                                           int64
	StaleOutcomes, Requeued, Evicted, StaleSettled, Rewinds, Overdrawn, Dispatched, Adopted int64
	// Staleness of consumed groups over this life: sum, count and maximum, in versions.
	StalenessSum, StalenessCount, StalenessMax int64
	// SampledTokens are the lengths of the groups that were generated, TrainedTokens of those that were consumed: a policy that
	// prefers the short ones shows as a difference. StaleRequeues counts groups, consumed or given up, by how often they had
	// been too stale; the last element that often or more.
	SampledTokens, TrainedTokens Histogram
	StaleRequeues                [6]int64
}

// Histogram counts groups of less than 2^i tokens, that element i−1 does not count, in element i.
type Histogram [48]int64

func (h *Histogram) add(tokens int64) {
	h[min(bits.Len64(uint64(max(tokens, 0))), len(h)-1)]++
}

// Step is what happened since the last Step, and what is buffered at present: what a job logs once per step.
type Step struct {
	// Consumed groups, with the sum and maximum of their staleness in versions.
	Consumed, StalenessSum, StalenessMax int64
	// EvictedFull gave way in a full buffer within the bound, EvictedStale were beyond it.
	EvictedFull, EvictedStale, Requeued int64
	// Evictions are the receipts of those, the last 64, in order.
	Evictions []Eviction
	// Buffered groups, COMPLETED and not leased, with the sum and maximum of their staleness.
	Buffered, BufferedSum, BufferedMax int64
}

// Step returns the numbers of one step; its counters start again. Its cost does not grow with what is retained.
func (s *Scheduler) Step() Step {
	out := s.step
	out.Requeued = s.stats.Requeued - s.stepRequeued
	s.step, s.stepRequeued = Step{}, s.stats.Requeued
	if s.ledger == nil {
		return out
	}
	if g := s.buffer.stalest(); g != nil {
		announced := s.ledger.Version()
		oldest, _, _ := g.Versions()
		out.Buffered = int64(s.buffer.n)
		out.BufferedSum, out.BufferedMax = announced*out.Buffered-s.buffer.versions, announced-oldest
	}
	return out
}

// Stats returns the present numbers.
func (s *Scheduler) Stats() Stats {
	out := s.stats
	out.Term, out.Unowned, out.Limits = s.term, s.cfg.Unowned, s.limits
	out.Recovering, out.Closing = s.ledger == nil || !s.granting, s.closing != nil
	out.ExecutingSamples, out.WaitingTakes, out.Holds = s.running.samples, len(s.takes), len(s.holds)
	out.Stuck = s.running.stuck
	for _, p := range s.pools {
		out.Orphans += p.orphans
	}
	out.WaitsFor = s.waitsFor()
	out.Workers, out.Trainers = len(s.workers), len(s.cohort.ranks)
	fullest := -1.0
	for _, h := range s.hosts {
		limit := s.bytesLimit(h)
		if share := float64(h.written) / float64(max(1, limit)); share > fullest || share == fullest && limit > out.Limits.Bytes {
			fullest, out.Bytes, out.Limits.Bytes = share, h.written, limit
		}
		out.WaitingCredits += len(h.credits)
	}
	if s.cfg.Unowned {
		out.Limits = Limits{Completed: s.limits.Completed} // the size of its buffer
	}
	if s.ledger == nil {
		return out
	}
	out.Timeline, out.NextRollout, out.Books = s.ledger.Timeline(), s.ledger.LastRollout()+1, s.ledger.Books()
	out.Announced = s.ledger.Version()
	out.Cursor, out.Replay = s.ledger.Cursor(), s.ledger.Replay()
	out.Resting = s.ledger.Resting()
	out.Reserved, out.Executing = s.ledger.Count(leases.Reserved), s.ledger.Count(leases.Executing)
	out.Terminal, out.Completed, out.Leased = s.ledger.Count(leases.Terminal), s.ledger.Count(leases.Completed), s.ledger.Count(leases.Leased)
	out.Returning, out.RollbackFailed = s.ledger.Count(leases.Returning), s.ledger.Count(leases.RollbackFailed)
	out.Retained, out.Buffered, out.OpenLeases = s.ledger.Live(), out.Completed+out.Leased, len(s.ledger.OpenLeases())
	for _, m := range s.order {
		if m.engine() {
			out.Engines++
			if !s.current(m) {
				out.Unconfirmed++
			}
		}
	}
	return out
}

// MemberStats is one member's share of a status screen.
type MemberStats struct {
	Session leases.Session
	// Executing counts the samples charged to it, Slots those it may run.
	Executing, Slots int64
	// Stuck counts the samples charged to it that it did not end when it was told to.
	Stuck int64
	// Orphans counts the samples of lost workers that may still run on the engines of this one's name.
	Orphans int64
	// Confirmed is the weight version that it confirmed last; Current says whether it may get work with it.
	Confirmed int64
	Current   bool
	// Engine says that it holds serving weights itself.
	Engine bool
	// Mapped is what a rank's process has mapped of rollouts.
	Mapped Mapped
}

// MemberStats returns the attached workers, engines and ranks, in the order of their attachment.
func (s *Scheduler) MemberStats() []MemberStats {
	var out []MemberStats
	for _, m := range s.order {
		if m.worker == nil && m.serves == nil && m.trainer == nil {
			continue
		}
		one := MemberStats{Session: m.session, Engine: m.engine(), Mapped: m.mappedBy(s.now)}
		if m.worker != nil || m.serves != nil {
			one.Executing, one.Stuck, one.Confirmed, one.Current = m.charged, m.stuck, m.confirmedBy(), s.ledger != nil && s.current(m)
		}
		if m.worker != nil {
			one.Slots = int64(m.worker.Slots)
		}
		if m.serves != nil {
			one.Orphans = m.serves.orphans
		}
		out = append(out, one)
	}
	return out
}
