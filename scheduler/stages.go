package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"outrider/leases"
)

// Stages come between a group's generation and its place in the buffer: a judge, say, that adds rewards. Config.Stages are gone
// through in order. A group at a stage is TERMINAL: it counts as retained, not as executing or completed. A member of the stage
// gets it by a StageGrant, under a receipt of its own, and ends that by Terminal:
//
//	success   its columns are the group's from here on, and the next stage's turn
//	retry     the stage is done again, by whoever is free
//	failure   likewise, at most MaxAttempts times, then the group has failed
//	discard   the group is settled without training
//
// When a member is lost, what it was at and what it had added is done again by another member of its stage, and so are the stages
// after that, which may have read it. The generation is not repeated, unless the group is leased: then its lease is revoked.

// Data is one column segment of a group's rows.
type Data struct {
	Holder leases.Session
	Handle leases.Handle
}

// staged is one group's way through the stages; it is kept until the group ends.
type staged struct {
	group *leases.Group
	// stage is the one that it waits for or is at; after the last, the number of stages.
	stage    int
	failures int            // of that stage
	m        *member        // has it; nil: it waits
	receipt  leases.Receipt // m's
	// columns has what each stage before has added. The worker of a receipt holds them.
	columns []columns
}

type columns struct {
	receipt leases.Receipt
	handle  leases.Handle
	digest  [32]byte
}

// stages is what the scheduler knows of groups at stages.
type stages struct {
	of     map[int64]*staged    // by group
	queues []list[leases.Group] // of each stage: the groups that wait for it
	n      int                  // groups that have not been through all stages
}

// stageRole is what a member does at a stage.
type stageRole struct {
	index   int   // of the stage
	slots   int   // groups at once
	running int64 // groups that it has
}

func newStages(names []string) stages {
	queues := make([]list[leases.Group], len(names))
	for i := range queues {
		queues[i].links = byArrival
	}
	return stages{of: map[int64]*staged{}, queues: queues}
}

// stageProblems says what is wrong with the names of the stages.
func (c *Config) stageProblems() []string {
	var problems []string
	for i, name := range c.Stages {
		if name == "" || slices.Contains(c.Stages[:i], name) {
			problems = append(problems, fmt.Sprintf("stage %q is without a name or there twice; give each stage a name of its own", name))
		}
	}
	if len(c.Stages) > 0 && c.Unowned {
		problems = append(problems, "stages are for owned runs; leave them out with ownership=none")
	}
	return problems
}

// attachStage takes a member of a stage in. What it had before is nobody's any more. It returns the receipts that mean nothing: all.
func (s *Scheduler) attachStage(m *member, w *WorkerRole) ([]leases.Receipt, error) {
	index := slices.Index(s.cfg.Stages, w.Stage)
	if index < 0 {
		return nil, fmt.Errorf("%w: %s is to serve stage %q, the run has the stages %q; declare it where the run is started", leases.ErrConfig, m.name, w.Stage, s.cfg.Stages)
	}
	var void []leases.Receipt
	for _, h := range w.Inventory {
		void = append(void, h.Receipt)
		if h.Outcome == nil || h.Outcome.Handle == 0 || s.addedUnder(h.Receipt) != nil { // the last is counted; loseStage lets go of it
			continue
		}
		m.host.written += h.Outcome.Bytes // until the Release that follows
		s.release(h.Receipt, h.Outcome.Handle)
	}
	s.loseStage(m)
	m.stage = &stageRole{index: index, slots: w.Slots}
	return void, nil
}

// enter begins a finished group's way to the buffer.
func (s *Scheduler) enter(g *leases.Group) {
	if len(s.cfg.Stages) == 0 {
		s.arrive(g)
		return
	}
	st := &staged{group: g}
	s.stages.of[g.ID()] = st
	s.stages.n++
	s.stages.queues[0].push(g)
}

// arrive has a group that nothing more is added to wait for its place in the buffer.
func (s *Scheduler) arrive(g *leases.Group) {
	s.arrival++
	g.Arrival = s.arrival
	s.waiting.push(g)
}

// unfinished is a TERMINAL group's way through the stages while it has not been through all, else nil.
func (s *Scheduler) unfinished(g *leases.Group) *staged {
	if st := s.stages.of[g.ID()]; st != nil && st.stage < len(s.cfg.Stages) {
		return st
	}
	return nil
}

// leaveStage takes a group from where it waits, or from the member that has it.
func (s *Scheduler) leaveStage(st *staged) {
	if st.m == nil {
		s.stages.queues[st.stage].remove(st.group)
		return
	}
	st.m.stage.running--
	st.m = nil
}

// serveStages gives groups to members of the stages that they wait for: to the one with the most free places, the earliest attached
// among equals.
func (s *Scheduler) serveStages() {
	for i := range s.stages.queues {
		for q := &s.stages.queues[i]; q.n > 0; {
			var best *member
			for _, m := range s.order {
				if m.stage != nil && m.stage.index == i && !m.draining && m.stage.free() > 0 && (best == nil || m.stage.free() > best.stage.free()) {
					best = m
				}
			}
			if best == nil {
				break
			}
			g := q.first
			q.remove(g)
			st := s.stages.of[g.ID()]
			st.m, st.receipt = best, s.ledger.StageReceipt(g, best.session)
			best.stage.running++
			s.emit(StageGrant{Session: best.session, Receipt: st.receipt, Stage: s.cfg.Stages[i], Row: s.cfg.Source.Row(g.ID()), Data: append([]Data{{g.Worker(), g.Handle()}}, s.columnsOf(g)...)})
		}
	}
}

func (r *stageRole) free() int64 { return int64(r.slots) - r.running }

// columnsOf are the column segments that stages have added to a group, in order.
func (s *Scheduler) columnsOf(g *leases.Group) []Data {
	st := s.stages.of[g.ID()]
	if st == nil {
		return nil
	}
	all := make([]Data, len(st.columns))
	for i, c := range st.columns {
		all[i] = Data{c.receipt.Worker, c.handle}
	}
	return all
}

// Columns are the column segments that stages have added to a live group, in order.
func (s *Scheduler) Columns(group int64) []Data {
	if s.ledger == nil {
		return nil
	}
	if g := s.ledger.Find(group); g != nil {
		return s.columnsOf(g)
	}
	return nil
}

// endStage ends one stage of one group by its member's report.
func (s *Scheduler) endStage(m *member, r leases.Receipt, o leases.Outcome) error {
	if o.Kind < leases.Success || o.Kind > leases.Discard || o.Kind == leases.Success && (o.Handle == 0 || o.Digest == [32]byte{}) {
		return fmt.Errorf("%w: %s: outcome kind %d, handle %d is no terminal receipt; seal the columns and report their digest", leases.ErrRefused, r, o.Kind, o.Handle)
	}
	if c := s.addedUnder(r); c != nil {
		if o.Kind != leases.Success || c.digest != o.Digest {
			return fmt.Errorf("%w: %s was reported before with another outcome; the first counts", leases.ErrConflict, r)
		}
		return nil
	}
	if o.Handle != 0 {
		m.host.written += sizeOf(o.Bytes)
	}
	st := s.stages.of[r.Group]
	if st == nil || st.m != m || identify(st.receipt) != identify(r) {
		s.stats.StaleOutcomes++
		s.release(r, o.Handle)
		return fmt.Errorf("%w: %s: the group has gone elsewhere", leases.ErrStale, r)
	}
	g := st.group
	s.leaveStage(st)
	if o.Kind == leases.Success {
		st.columns = append(st.columns, columns{receipt: r, handle: o.Handle, digest: o.Digest})
		st.failures = 0
		if st.stage++; st.stage < len(s.cfg.Stages) {
			s.stages.queues[st.stage].push(g)
		} else {
			s.stages.n--
			s.arrive(g)
		}
		return nil
	}
	s.release(r, o.Handle)
	s.stages.queues[st.stage].push(g)
	switch o.Kind {
	case leases.Discard:
		s.discard(g, o.Reason)
	case leases.Failure:
		if st.failures++; st.failures >= s.cfg.Policy.MaxAttempts {
			s.takeOut(g)
			s.releaseGroup(g)
			s.unhold(g)
			s.ledger.Fail(g)
			s.failed(r, o, nil)
		}
	}
	return nil
}

// addedUnder is what a stage added to a live group under this receipt.
func (s *Scheduler) addedUnder(r leases.Receipt) *columns {
	st := s.stages.of[r.Group]
	if st == nil {
		return nil
	}
	i := slices.IndexFunc(st.columns, func(c columns) bool { return identify(c.receipt) == identify(r) })
	if i < 0 {
		return nil
	}
	return &st.columns[i]
}

// releaseStages lets go of what stages added to a group that ends; it has been taken out.
func (s *Scheduler) releaseStages(g *leases.Group) {
	st := s.stages.of[g.ID()]
	if st == nil {
		return
	}
	s.releaseColumns(st, 0)
	if st.stage < len(s.cfg.Stages) {
		s.stages.n--
	}
	delete(s.stages.of, g.ID())
}

// releaseColumns lets go of what the stages from one on have added.
func (s *Scheduler) releaseColumns(st *staged, from int) {
	for _, c := range st.columns[from:] {
		s.release(c.receipt, c.handle)
	}
	st.columns = st.columns[:from]
}

// recall ends what a member of a stage does for a group that has ended or goes elsewhere.
func (s *Scheduler) recall(st *staged) {
	if st.m != nil {
		s.emit(Cancel{Session: st.m.session, Receipt: st.receipt})
	}
	s.leaveStage(st)
}

// loseStage has the work of a lost member of a stage done again.
func (s *Scheduler) loseStage(m *member) {
	if m.stage == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.stages.of)) {
		st := s.stages.of[id]
		if st == nil {
			continue // it was in a lease that has been revoked
		}
		lost := slices.IndexFunc(st.columns, func(c columns) bool { return c.receipt.Worker == m.session })
		switch {
		case lost < 0 && st.m == m:
			s.leaveStage(st)
			s.stages.queues[st.stage].push(st.group)
		case lost < 0:
		case st.group.State() == leases.Leased:
			if lease := st.group.Lease(); !admittedByAll(lease) {
				s.rollback(lease, "data lost", fmt.Errorf("%w: admission %d of rollout %d was revoked: the columns that stage %q added to group %d were lost with %s on host %s before every rank admitted it; take the rollout again",
					leases.ErrRefused, lease.Admission, lease.Rollout, s.cfg.Stages[lost], id, m.session, m.host.name))
			}
		default:
			s.backToStage(st, lost)
		}
	}
}

// backToStage has a group go through the stages from one on again.
func (s *Scheduler) backToStage(st *staged, stage int) {
	switch g := st.group; {
	case st.stage < len(s.cfg.Stages):
		s.recall(st)
	case g.State() == leases.Completed:
		s.buffer.remove(g)
		s.ledger.Reopen(g)
		s.stages.n++
	default:
		s.waiting.remove(g)
		s.stages.n++
	}
	s.releaseColumns(st, stage)
	st.stage, st.failures = stage, 0
	s.stages.queues[stage].push(st.group)
}

// unstaffed says which stage groups wait for while nobody serves it; empty when there is none.
func (s *Scheduler) unstaffed() string {
	for i, q := range s.stages.queues {
		served := slices.ContainsFunc(s.order, func(m *member) bool {
			return m.stage != nil && m.stage.index == i && m.stage.slots > 0 && !m.draining
		})
		if q.n > 0 && !served {
			return fmt.Sprintf("%d groups wait for stage %q, which nobody serves", q.n, s.cfg.Stages[i])
		}
	}
	return ""
}

// firstAtStage is the first group, in the source's order, that a member of a stage has.
func (s *Scheduler) firstAtStage() (first int64, found *staged) {
	for id, st := range s.stages.of {
		if st.m != nil && (found == nil || id < first) {
			first, found = id, st
		}
	}
	return first, found
}

// verifyStages recounts the groups at stages.
func (s *Scheduler) verifyStages() error {
	waiting, running, through := make([]int, len(s.cfg.Stages)), map[*member]int64{}, 0
	for id, st := range s.stages.of {
		switch g := s.ledger.Find(id); {
		case g == nil || g != st.group || g.State() < leases.Terminal:
			return fmt.Errorf("scheduler: group %d is at a stage and not live, or not finished", id)
		case len(st.columns) != st.stage:
			return fmt.Errorf("scheduler: group %d has been through %d stages and has columns of %d", id, st.stage, len(st.columns))
		case st.stage == len(s.cfg.Stages):
			through++
		case g.State() != leases.Terminal:
			return fmt.Errorf("scheduler: group %d is at stage %d and %s", id, st.stage, g.State())
		case st.m == nil:
			waiting[st.stage]++
		default:
			running[st.m]++
		}
	}
	if n := s.ledger.Count(leases.Terminal); n != int64(s.waiting.n+s.stages.n) {
		return fmt.Errorf("scheduler: %d groups are TERMINAL, %d wait for a place, %d are at a stage", n, s.waiting.n, s.stages.n)
	}
	if n := len(s.stages.of) - through; n != s.stages.n {
		return fmt.Errorf("scheduler: %d groups are at stages, recounted %d", s.stages.n, n)
	}
	for i, n := range waiting {
		if s.stages.queues[i].n != n {
			return fmt.Errorf("scheduler: %d groups wait for stage %q, recounted %d", s.stages.queues[i].n, s.cfg.Stages[i], n)
		}
	}
	for _, m := range s.order {
		if m.stage != nil && m.stage.running != running[m] {
			return fmt.Errorf("scheduler: %s is counted as having %d groups at its stage, recounted %d", m.session, m.stage.running, running[m])
		}
	}
	return nil
}
