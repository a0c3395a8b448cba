package scheduler

import "outrider/leases"

// mostEvictions bounds the receipts of evictions that a Step has: the last ones.
const mostEvictions = 64

// Eviction is the receipt of a finished group that is not trained as it is: it gave way in a full buffer, or was beyond the
// staleness bound.
type Eviction struct {
	// Receipt is the victim's terminal receipt; it is void.
	Receipt leases.Receipt
	// Reason is "full" or "stale".
	Reason string
	// MinVersion and MaxVersion are the oldest and newest weight version that the victim used.
	MinVersion, MaxVersion int64
	// Became is Requeued or Discarded.
	Became leases.State
	// Kept is the group that has the victim's place; zero where nobody waited for it.
	Kept leases.Receipt
}

// evict makes room in a full buffer for a finished group: the exact reservation is settled before its place is free.
func (s *Scheduler) evict(victim, kept *leases.Group) {
	s.stats.Evicted++
	if s.stale(victim) {
		s.settleStale(victim, s.ledger.Receipt(kept))
		return
	}
	s.step.EvictedFull++
	e := s.eviction(victim, "full")
	e.Kept = s.ledger.Receipt(kept)
	s.takeOut(victim)
	s.requeue(victim)
	s.evicted(e)
}

// eviction is the receipt of a group that goes back to the source.
func (s *Scheduler) eviction(victim *leases.Group, reason string) Eviction {
	oldest, newest, _ := victim.Versions()
	return Eviction{Receipt: s.ledger.Receipt(victim), Reason: reason, MinVersion: oldest, MaxVersion: newest, Became: leases.Requeued}
}

// evicted files a receipt.
func (s *Scheduler) evicted(e Eviction) {
	kv := []any{"group", e.Receipt.Group, "attempt", e.Receipt.Attempt, "worker", e.Receipt.Worker, "reason", e.Reason, "oldest_version", e.MinVersion, "newest_version", e.MaxVersion, "became", e.Became}
	if e.Kept != (leases.Receipt{}) {
		kv = append(kv, "kept", e.Kept.Group)
	}
	s.log(Info, "evicted", kv...)
	if n := len(s.step.Evictions); n == mostEvictions {
		copy(s.step.Evictions, s.step.Evictions[1:])
		s.step.Evictions = s.step.Evictions[:n-1]
	}
	s.step.Evictions = append(s.step.Evictions, e)
}

// stale reports whether a group is beyond the staleness bound at the announced version.
func (s *Scheduler) stale(g *leases.Group) bool {
	announced := s.ledger.Version()
	return s.staleAt(g, announced)
}

func (s *Scheduler) staleAt(g *leases.Group, version int64) bool {
	oldest, _, _ := g.Versions()
	return s.cfg.Policy.MaxStaleness != NoBound && version-oldest > s.cfg.Policy.MaxStaleness
}

// settleStale settles a COMPLETED group that is beyond the bound by the policy. kept is the group that gets its place, or zero.
func (s *Scheduler) settleStale(g *leases.Group, kept leases.Receipt) {
	s.stats.StaleSettled++
	s.step.EvictedStale++
	e := s.eviction(g, "stale")
	e.Kept = kept
	if s.cfg.Policy.Stale == StaleDrop || g.Requeues() > s.cfg.Policy.MaxRequeues {
		e.Became = leases.Discarded
		s.countRequeues(g)
		s.discard(g, "stale")
		s.evicted(e)
		return
	}
	s.stats.Requeued++
	id, last := g.ID(), g.Requeues() == s.cfg.Policy.MaxRequeues
	s.takeOut(g)
	s.releaseGroup(g)
	s.unhold(g)
	s.must(s.ledger.RequeueStale(s.ledger.Receipt(g)))
	s.evicted(e)
	if last && s.ledger.Rest(id) {
		s.lastChance[id] = struct{}{}
		s.log(Info, "group ended too stale again and again: it goes out first with the next version", "group", id, "requeues", s.cfg.Policy.MaxRequeues)
	}
}
