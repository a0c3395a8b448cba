package scheduler

import (
	"maps"
	"slices"

	"outrider/leases"
)

// carries chooses the live groups that a rewind to rollout leaves where they are: those that no later weights made. A
// finished group says which versions it used. One that runs is known to have used none later only while its engine
// serves exactly the version that the run goes back to, and was sent no other.
func (s *Scheduler) carries(rollout int64) map[int64]bool {
	version, in, err := s.ledger.VersionAt(rollout)
	s.must(err)
	announced := s.ledger.Version()
	sending := s.update != nil && !s.update.announced
	out := map[int64]bool{}
	for _, g := range s.ledger.Groups() {
		switch g.State() {
		case leases.Executing:
			m := s.running.find(s.ledger.Receipt(g)).m
			serves := s.runsOn(m, version, in)
			if m.weightless() {
				serves = announced == version && !sending
			}
			out[g.ID()] = serves && g.Charged() <= version
		case leases.Terminal, leases.Completed:
			_, newest, _ := g.Versions()
			out[g.ID()] = newest <= version
		}
	}
	return out
}

// carryOver gives every live group's worker, and who keeps its data, its receipt of the present timeline in place of that of the one before.
func (s *Scheduler) carryOver(before leases.Timeline) {
	known := s.carried
	s.carried = map[uint64][]leases.Timeline{}
	told, kept := map[leases.Session][]leases.Receipt{}, map[leases.Session]map[leases.Session][]leases.Receipt{}
	for _, g := range s.ledger.Groups() {
		if g.State().Leaves() {
			continue
		}
		r := s.ledger.Receipt(g)
		if e := s.running.find(r); e != nil && e.group == g {
			e.receipt = r
		}
		s.carried[r.Execution] = append(known[r.Execution], before)
		told[r.Worker] = append(told[r.Worker], r)
		if k := s.keeper(g); k != nil {
			if kept[k.session] == nil {
				kept[k.session] = map[leases.Session][]leases.Receipt{}
			}
			kept[k.session][r.Worker] = append(kept[k.session][r.Worker], r)
		}
	}
	for _, m := range s.workers {
		if receipts := told[m.session]; len(receipts) > 0 {
			s.emit(Carried{Session: m.session, Receipts: receipts})
		}
	}
	for _, m := range s.order {
		for _, worker := range slices.Sorted(maps.Keys(kept[m.session])) {
			s.emit(Carried{Session: m.session, Receipts: kept[m.session][worker]})
		}
	}
}

// present returns the receipt by which an execution goes by now. Its worker may not have heard yet that it was carried over, though
// who keeps its data has, and has told a life of the owner that knows of no other name.
func (s *Scheduler) present(r leases.Receipt) leases.Receipt {
	if s.ledger == nil || r.Timeline == s.ledger.Timeline() {
		return r
	}
	now := r
	now.Timeline = s.ledger.Timeline()
	if slices.Contains(s.carried[r.Execution], r.Timeline) {
		return now
	}
	if g, err := s.ledger.Lookup(now); err == nil && g.Keeper != 0 {
		return now
	}
	return r
}

// presentInventory is present for all that a worker holds, and tells it what has gone by another name since.
func (s *Scheduler) presentInventory(m *member, inventory []Held) []Held {
	var told []leases.Receipt
	out := slices.Clone(inventory)
	for i := range out {
		if r := s.present(out[i].Receipt); r != out[i].Receipt {
			out[i].Receipt = r
			told = append(told, r)
		}
	}
	if len(told) > 0 {
		s.emit(Carried{Session: m.session, Receipts: told})
	}
	return out
}
