package scheduler

import "outrider/leases"

// Which groups a batch is made of, and when it waits for others.
//
// Staleness of what is trained, in versions, when BatchesPerUpdate batches make a version and P = BatchGroups × BatchesPerUpdate:
//   - every order: at most MaxStaleness, because what is beyond it is settled at the take (settleStale);
//   - with Pace nothing gets beyond it, in any order. At version v there are never more than (MaxStaleness+1)·P groups that this and
//     later versions are to train, so all of them can be trained in time; a batch takes first what it must, so that of the groups
//     dispatched up to version v−MaxStaleness+i no more than (i+1)·P, less what this version has trained, are left, for every i; it
//     waits for those that run when too many of them do. This is earliest deadline first, as late as possible;
//   - Windowed without a bound: a group is passed by at most Window−1 others, so it is trained at most ceil((Window−1)/P) versions later
//     than in order of dispatch: with S versions of groups dispatched ahead, S + ceil((Window−1)/P).

// perVersion is P.
func (s *Scheduler) perVersion() int64 {
	return int64(s.cfg.BatchGroups) * int64(s.cfg.Policy.BatchesPerUpdate)
}

// made counts the groups that the next version is made of so far.
func (s *Scheduler) made() int64 { return s.ledger.Count(leases.Leased) + s.ledger.Unannounced() }

// room is how many groups the versions up to ahead from this one can train after a batch of n: at least all of those after this one.
func (s *Scheduler) room(ahead int64, n int) int64 {
	return max((ahead+1)*s.perVersion()-s.made()-int64(n), ahead*s.perVersion())
}

// paced reports whether one more group could be beyond the bound when it is trained.
func (s *Scheduler) paced() bool {
	if !s.cfg.Policy.Pace {
		return false
	}
	untaken := s.ledger.Live() - s.ledger.Count(leases.Leased)
	return untaken+s.made() >= (s.cfg.Policy.MaxStaleness+1)*s.perVersion()
}

// incomplete reports whether a batch cannot be had, or has to wait for groups that are due.
func (s *Scheduler) incomplete(want leases.Tally) bool {
	if !full(s.buffer.tally, want) || s.cfg.Policy.Order == Windowed && !full(tally(s.window.pick(s, want, s.cfg.Policy.Window)), want) {
		return true
	}
	if !s.cfg.Policy.Pace {
		return false
	}
	n := int(want.Groups)
	announced := s.ledger.Version()
	bound := s.cfg.Policy.MaxStaleness
	for ahead := max(0, bound-announced); ahead <= bound; ahead++ {
		unfinished, _ := s.ledger.Due(announced - bound + ahead)
		if unfinished > s.room(ahead, n) {
			return true
		}
	}
	return false
}

// due takes the groups out of the buffer that a batch of n must have, so that what it leaves can be trained within the bound: oldest first.
func (s *Scheduler) due(n int) []*leases.Group {
	var out []*leases.Group
	announced := s.ledger.Version()
	bound := s.cfg.Policy.MaxStaleness
	for ahead := max(0, bound-announced); ahead <= bound; ahead++ { // No group is of a version below 0.
		version := announced - bound + ahead
		unfinished, completed := s.ledger.Due(version)
		must := unfinished + completed - s.room(ahead, n) // those that are out already are still COMPLETED
		for int64(len(out)) < must && len(out) < n {
			g := s.buffer.stalest()
			if oldest, _, _ := g.Versions(); oldest > version {
				break
			}
			s.buffer.remove(g)
			out = append(out, g)
		}
	}
	return out
}

// choose takes a batch out of the buffer, or all that is there; incomplete(want) must be false, or nothing must run.
func (s *Scheduler) choose(want leases.Tally) []*leases.Group {
	if s.cfg.Policy.Order == Windowed {
		groups := s.window.pick(s, want, s.cfg.Policy.Window)
		for _, g := range groups {
			s.buffer.remove(g)
		}
		return groups
	}
	var out []*leases.Group
	if s.cfg.Policy.Pace {
		out = s.due(int(min(want.Groups, int64(s.buffer.n))))
	}
	for have := tally(out); s.buffer.n > 0 && !full(have, want); {
		g := s.buffer.next(s.cfg.Policy.Order)
		s.buffer.remove(g)
		out = append(out, g)
		have = have.Plus(g.Tally())
	}
	return out
}

// dropLast settles what is left of a finite source when it fills no batch and the policy wants none of it. It reports whether it did.
func (s *Scheduler) dropLast(t *take) bool {
	if s.cfg.Policy.Last != LastDrop || t.refill != nil || s.buffer.n == 0 || !s.dry() || len(s.ledger.OpenLeases()) > 0 {
		return false
	}
	s.log(Info, "the last groups fill no batch and are dropped", "groups", s.buffer.n, "batch_groups", t.want.Groups)
	for g := s.buffer.first; g != nil; g = s.buffer.first {
		s.discard(g, "last_batch")
	}
	return true
}
