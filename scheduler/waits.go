package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
)

// waitsFor says what keeps the first waiting take, or whoever waits for the base, from going on: nothing that runs will
// end it. Empty when nobody waits, or when work for it is under way. An update that failed or lacks an engine, or that the run has failed, is said at any time.
func (s *Scheduler) waitsFor() string {
	if s.closed != nil {
		return strings.TrimPrefix(s.dead.Error(), "leases: ") + "; close the run"
	}
	if s.ledger == nil {
		if len(s.takes)+len(s.early) == 0 {
			return ""
		}
		return "the run's base, which a complete cohort of trainers brings: " + s.missingRanks()
	}
	if u := s.update; u != nil && u.failed {
		return u.lack()
	} else if u != nil && s.lacksEngine(u) {
		return fmt.Sprintf("a rebroadcast of version %d waits for an engine: none is attached", u.version)
	}
	if len(s.takes) == 0 || s.closing != nil || s.dead != nil {
		return ""
	}
	t := s.takes[0]
	lack := fmt.Sprintf("rollout %d has %s; ", t.rollout, s.has(t))
	switch {
	case len(s.holds) > 0:
		return lack + "the run is held: " + s.holds[0].reason
	case !s.whole():
		return lack + s.missingRanks()
	case s.unstaffed() != "":
		return lack + s.unstaffed()
	case s.running.live > 0 || s.waiting.n+s.stages.n > 0 || !s.granting:
		return ""
	case len(s.workers) == 0:
		return lack + "no worker is attached"
	case !s.ledger.Available():
		return lack + "the source has no other group at present"
	case s.paced():
		announced := s.ledger.Version()
		return lack + fmt.Sprintf("pace begins no other group before a version above %d is announced", announced)
	}
	if s.onlyOfferers() {
		return lack + "every worker offers what it makes and takes no groups: let one serve, or offer again what came back"
	}
	engines, current := 0, 0
	for _, m := range s.order {
		if m.engine() {
			engines++
		}
		if m.worker != nil && s.current(m) && !m.draining {
			current++
		}
	}
	if why := s.poolsWait(); why != "" {
		return lack + why
	}
	if current == 0 && engines > 0 {
		announced := s.ledger.Version()
		return lack + fmt.Sprintf("none of %d engines has confirmed version %d: send it to them (rebroadcast), or announce a higher one", engines, announced)
	}
	return ""
}

// onlyOfferers reports whether nobody takes groups, because all workers offer their own.
func (s *Scheduler) onlyOfferers() bool {
	return !slices.ContainsFunc(s.workers, func(m *member) bool { return m.worker.Slots > 0 || !m.offers })
}

// whole reports whether nothing is known of a trainer rank that is not here. Before the first one attaches nothing is.
func (s *Scheduler) whole() bool {
	return len(s.cohort.sizes) == 0 || s.cohort.complete() || s.cfg.Unowned
}

func (s *Scheduler) missingRanks() string {
	const shown = 8
	var missing []string
	rest := -len(s.cohort.ranks)
	for _, role := range sortedRoles(s.cohort.sizes) {
		rest += s.cohort.sizes[role]
		for i := 0; i < s.cohort.sizes[role] && len(missing) < shown; i++ {
			if rank := (leases.Rank{Role: role, Rank: i}); s.cohort.ranks[rank] == nil {
				missing = append(missing, rank.String())
			}
		}
	}
	if len(missing) == 0 {
		return "no trainer has attached"
	}
	if rest -= len(missing); rest > 0 {
		missing = append(missing, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(missing, ", ") + " not attached"
}

// sayWaits logs what a take waits for, once for each different lack. One that differs from the last in its numbers only is the
// same: they may change with every group that is finished.
func (s *Scheduler) sayWaits() {
	lack := s.waitsFor()
	words := withoutNumbers(lack)
	if words == s.saidWaits {
		return
	}
	s.saidWaits = words
	// Holds and pace are somebody's own doing, a run that begins has no workers yet, and the end of a source is no surprise.
	if lack != "" && len(s.holds) == 0 && s.ledger != nil && len(s.workers) > 0 && (s.ledger.Available() && !s.paced() || !s.whole()) {
		s.log(Warn, "a take waits and nothing runs for it", "lack", lack)
	}
}

func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}
