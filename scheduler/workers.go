package scheduler

import (
	"fmt"
	"math"
	"slices"

	"outrider/leases"
)

// attachWorker takes a worker in and reconciles what it brings. It returns the receipts that mean nothing.
func (s *Scheduler) attachWorker(m *member, w *WorkerRole) []leases.Receipt {
	known := m.worker != nil
	role := *w
	m.worker = &role
	if !known {
		s.workers = append(s.workers, m)
		m.since = s.clock
		if w.Uses != "" {
			m.uses = s.pool(w.Uses)
			m.uses.workers = append(m.uses.workers, m)
		}
		s.reclaim(m.session)
	}
	m.asked = m.asked || w.Slots > 0
	m.confirmed, m.confirmedIn = w.Confirmed, w.Timeline
	s.relimit()
	if s.ledger == nil {
		m.inventory = slices.Clone(w.Inventory)
		s.bereft = slices.DeleteFunc(s.bereft, func(b bereft) bool { return b.receipt.Worker == m.session })
		return nil
	}
	inventory := s.presentInventory(m, w.Inventory)
	if !known {
		s.holdAgain(m, inventory)
	}
	void := s.reconcile(m, inventory)
	if known {
		s.grantAgain(m, inventory)
	}
	return void
}

// reconcile adopts what a worker runs or has finished, when it still counts.
func (s *Scheduler) reconcile(m *member, inventory []Held) (void []leases.Receipt) {
	for _, h := range inventory {
		e, r := s.running.find(h.Receipt), h.Receipt
		if e == nil || e.receipt != r && (h.Outcome == nil || !e.voidUnder(r)) {
			if g, err := s.ledger.Lookup(h.Receipt); err == nil && g.State() > leases.Executing {
				continue // its terminal report arrived before
			}
			if e = s.adopt(m, h); e == nil {
				void = append(void, h.Receipt)
				continue
			}
			r = e.receipt
		}
		if h.Outcome != nil {
			if err := s.terminal(r, *h.Outcome); refused(err) {
				s.log(Warn, "outcome in an inventory refused", "group", h.Receipt.Group, "worker", m.session, "error", err)
			}
		} else if h.Done > 0 && h.Done <= s.cfg.GroupSize {
			s.sampleDone(e, h.Done)
		}
	}
	return void
}

// holdAgain finds what a worker that was given up still holds: what was kept for it, and data of leases that every rank had
// admitted by then.
func (s *Scheduler) holdAgain(m *member, inventory []Held) {
	for _, k := range s.order {
		for g := range k.holding.all() {
			if k != m && g.Worker() == m.session {
				k.holding.remove(g)
				m.holding.push(g)
			}
		}
	}
	for _, h := range inventory {
		if g, err := s.ledger.Lookup(h.Receipt); err == nil && g.State() > leases.Executing && g.Worker() == m.session && !m.holding.has(g) {
			m.holding.push(g)
		}
	}
}

// adopt takes over one execution of a former life from its worker, or charges a void one that still runs to it.
func (s *Scheduler) adopt(m *member, h Held) *running {
	err := fmt.Errorf("%w: it is another worker's", leases.ErrStale)
	if h.Receipt.Worker == m.session {
		var e *running
		if e, err = s.takeOver(m, h); err == nil {
			return e
		}
	}
	s.log(Info, "inventory void", "group", h.Receipt.Group, "worker", m.session, "why", err)
	if h.Outcome != nil {
		m.host.wroteFor(h.Outcome)
		s.ledger.LetGo(h.Receipt, h.Outcome) // a keeper may speak of it later
		s.release(h.Receipt, h.Outcome.Handle)
	} else if s.running.find(h.Receipt) == nil {
		e := s.begin(m, nil, h.Receipt)
		s.sampleDone(e, min(max(h.Done, 0), s.cfg.GroupSize))
	}
	return nil
}

// takeOver begins an execution of a former life again, for the member that brings it, when its group is still to be had.
func (s *Scheduler) takeOver(m *member, h Held) (*running, error) {
	if s.cfg.Unowned || s.closing != nil {
		return nil, fmt.Errorf("%w: a run that closes, or owns nothing, adopts nothing", leases.ErrStale)
	}
	if e := s.running.find(h.Receipt); e != nil {
		return nil, fmt.Errorf("%w: its worker has given the number to %s", leases.ErrStale, e.receipt)
	}
	g, err := s.ledger.Adopt(h.Receipt, h.Version, s.newest(m, h))
	if err != nil {
		return nil, err
	}
	s.stats.Adopted++
	delete(s.rests.due, g.ID())
	delete(s.lastChance, g.ID())
	r := s.ledger.Receipt(g)
	if r != h.Receipt {
		s.emit(Carried{Session: m.session, Receipts: []leases.Receipt{r}})
		s.carried[r.Execution] = append(s.carried[r.Execution], h.Receipt.Timeline)
	}
	e := s.begin(m, g, r)
	e.adopted = true
	return e, nil
}

// newest is the newest version that an execution of a former life may have used; one that runs on an engine that may
// have loaded others since, or elsewhere, has no bound.
func (s *Scheduler) newest(m *member, h Held) int64 {
	switch {
	case h.Outcome != nil && h.Outcome.HasVersions:
		return h.Outcome.MaxVersion
	case h.Outcome != nil, m.engine() && s.current(m):
		return h.Version
	}
	return math.MaxInt64
}

// grantAgain repeats the grants that a reconnecting worker never got, and the cancels that it may not have got.
func (s *Scheduler) grantAgain(m *member, inventory []Held) {
	has := map[uint64]bool{}
	for _, h := range inventory {
		has[h.Receipt.Execution] = true
	}
	for e := range s.running.all() {
		switch {
		case e.m != m:
		case !has[e.receipt.Execution] && e.group == nil:
			s.end(e)
			s.checkDrained(m)
		case !has[e.receipt.Execution] && e.offered:
			// The answer to its offer was lost; the worker's sidecar asks again.
			g := e.group
			s.end(e)
			s.abandon(g)
		default:
			if !has[e.receipt.Execution] {
				s.emit(Grant{Session: m.session, Assignment: s.assignment(e)})
			}
			if e.cancelled {
				s.emit(Cancel{Session: m.session, Receipt: e.receipt})
			}
		}
	}
}

// pendingHeld finds an execution in the inventory that its worker brought before the base was known. The timeline of the
// inventory counts: a report may have been made before the execution was carried over into that.
func (s *Scheduler) pendingHeld(r leases.Receipt) *Held {
	m := s.members[r.Worker]
	if m == nil {
		return nil
	}
	for i := range m.inventory {
		r.Timeline = m.inventory[i].Receipt.Timeline
		if m.inventory[i].Receipt == r {
			return &m.inventory[i]
		}
	}
	return nil
}

// SetSlots says how many samples a worker runs at once from here on: 0 keeps new work from it, while its memory is needed
// for something else, say. What runs there goes on. Errors: ErrUnknown, ErrRefused (negative, or
// more than anybody can keep account of).
func (s *Scheduler) SetSlots(session leases.Session, slots int) error {
	if s.dead != nil {
		return s.dead
	}
	m := s.members[session]
	if m == nil || m.worker == nil && m.stage == nil {
		return fmt.Errorf("%w: session %s is no attached worker", leases.ErrUnknown, session)
	}
	if slots < 0 || slots > mostFactor {
		return fmt.Errorf("%w: slots=%d of worker %s; give 0 for no work, or how many samples it runs at once, at most %d", leases.ErrRefused, slots, m.name, mostFactor)
	}
	if m.stage != nil {
		m.stage.slots = slots
		s.pump()
		return nil
	}
	m.worker.Slots = slots
	m.asked = m.asked || slots > 0
	m.saidStuck = m.saidStuck && m.mostlyStuck()
	s.relimit()
	s.pump()
	return nil
}

// Drain gives a worker no new work; a Drained effect follows when its leaving loses nothing. Errors: ErrUnknown.
func (s *Scheduler) Drain(session leases.Session) error {
	m := s.members[session]
	if m == nil || m.worker == nil && m.stage == nil {
		return fmt.Errorf("%w: session %s is no attached worker", leases.ErrUnknown, session)
	}
	m.draining = true
	s.chooseKeepers(m.host) // nobody hands it what is to last
	s.serveCredits()        // what it waits to write is all that keeps it
	s.checkDrained(m)
	return nil
}

func (s *Scheduler) checkDrained(m *member) {
	if m.draining && !m.drained && m.stage == nil && m.charged == m.stuck && s.allKept(m) && !s.runs(m) && s.members[m.session] == m {
		m.drained = true
		s.emit(Drained{Session: m.session})
	}
}

func (s *Scheduler) runs(m *member) bool {
	for e := range s.running.all() {
		if e.m == m && !e.stuck {
			return true
		}
	}
	return false
}

// loseWork replays what a lost member ran or held alone.
func (s *Scheduler) loseWork(m *member) {
	for _, h := range m.inventory {
		if h.Outcome != nil {
			s.bereft = append(s.bereft, bereft{h.Receipt, h.Outcome, m.host.name})
		}
	}
	m.inventory = nil
	s.losses++
	orphans := int64(0)
	if m.uses != nil {
		orphans = m.uses.orphans
	}
	for e := range s.running.all() {
		if g := e.group; e.m == m {
			if m.uses != nil && e.charged > 0 {
				s.orphan(e)
			} else {
				s.end(e)
			}
			if g != nil {
				s.interrupt(g)
			}
		}
	}
	if p := m.uses; p != nil && p.orphans > orphans {
		s.log(Warn, "work of a lost worker may still run on its engine", "worker", m.session, "name", m.name, "engine", p.name, "samples", p.orphans, "orphan_ttl", s.cfg.Times.OrphanTTL)
	}
	// In group order, so that it does not matter how they came.
	held := slices.Collect(m.holding.all())
	slices.SortFunc(held, func(a, b *leases.Group) int { return int(a.ID() - b.ID()) })
	var alone []*leases.Group
	for _, g := range held {
		m.holding.remove(g)
		if k := s.keeper(g); k != nil {
			k.holding.push(g)
			s.stats.Rescued++
			s.log(Info, "outlives its worker", "group", g.ID(), "worker", m.session, "keeper", k.session)
		} else {
			alone = append(alone, g)
		}
	}
	for _, g := range alone { // last: one that is lost may take a lease with it, and what is kept of that
		switch g.State() {
		case leases.Terminal, leases.Completed:
			s.takeOut(g)
			s.releaseGroup(g)
			s.abandon(g)
		case leases.Leased:
			if lease := g.Lease(); !admittedByAll(lease) {
				why := fmt.Errorf("%w: admission %d of rollout %d was revoked: the data of group %d was lost with worker %s on host %s before every rank admitted it; take the rollout again",
					leases.ErrRefused, lease.Admission, lease.Rollout, g.ID(), m.session, m.host.name)
				s.rollback(lease, "data lost", why)
			}
		}
	}
}

// bereft is what a worker had finished that was lost before the base was known: who keeps it may bring it.
type bereft struct {
	receipt leases.Receipt
	outcome *leases.Outcome
	host    string
}

// releaseBereft lets go of what nobody has brought.
func (s *Scheduler) releaseBereft() {
	for _, b := range s.bereft {
		if h := s.hosts[b.host]; h != nil {
			h.wroteFor(b.outcome)
		}
		s.release(b.receipt, b.outcome.Handle)
	}
	s.bereft = nil
}

// abandon returns a group whose data is lost, or that a close gives up, to the source; an unowned run loses it.
func (s *Scheduler) abandon(g *leases.Group) {
	if s.cfg.Unowned {
		s.ledger.Lose(g)
		return
	}
	s.stats.Requeued++
	s.ledger.Abandon(g)
}

func admittedByAll(lease *leases.Lease) bool {
	if lease.Publication() == nil {
		return false
	}
	_, missing := lease.Missing()
	return !missing
}

// current reports whether a worker may run with the weights that it holds: it confirmed exactly the announced
// version since that was recorded, and none was sent to it since; of engines elsewhere that it uses, all of them. A worker
// for whose work nobody confirms weights always may.
func (s *Scheduler) current(m *member) bool {
	if m.weightless() {
		return true
	}
	announced, _, in, _ := s.ledger.Announced()
	return s.runsOn(m, announced, in)
}

// serves is current for an announced version that was recorded in a timeline.
func (s *Scheduler) serves(m *member, version int64, in leases.Timeline) bool {
	never := m.confirmedIn == (leases.Timeline{}) && m.confirmed == 0
	return !m.suspect && m.confirmed == version && (m.confirmedIn == in || m.confirmedIn == s.ledger.Timeline() || never)
}

// Confirm says that an engine serves version. The answer is the timeline in which that counts; the engine's
// sidecar repeats both when it attaches again. digest may be nil.
// Errors: ErrUnknown, ErrRefused (a digest that is not the trainer's of that version, or a version that nobody sent), ErrNotReady.
func (s *Scheduler) Confirm(session leases.Session, version int64, digest []byte) (leases.Timeline, error) {
	if s.dead != nil {
		return leases.Timeline{}, s.dead
	}
	m := s.members[session]
	if m == nil || !m.engine() {
		return leases.Timeline{}, fmt.Errorf("%w: session %s is no attached engine", leases.ErrUnknown, session)
	}
	if s.ledger == nil {
		return leases.Timeline{}, s.notReady("confirm")
	}
	announced, _, _, want := s.ledger.Announced()
	// What a former life sent is not known here: its engines may confirm it late.
	if sent := max(announced, s.sent); version > sent && !s.cfg.Recover {
		return leases.Timeline{}, fmt.Errorf("%w: engine %s confirms version %d, and version %d is the newest that was announced or sent; confirm the version that update_weights or rebroadcast sent with the weights", leases.ErrRefused, session, version, sent)
	}
	if u := s.update; u != nil && u.version == version {
		want = u.digest
	} else if version != announced {
		want = nil
	}
	if otherWeights(digest, want) {
		m.suspect = true
		return leases.Timeline{}, fmt.Errorf("%w: engine %s confirms version %d with digest %q, the trainer's is %q; load it again", leases.ErrRefused, session, version, digest, want)
	}
	m.confirmed, m.confirmedIn, m.digest, m.suspect = version, s.ledger.Timeline(), slices.Clone(digest), false
	m.confirms++
	if u := s.update; u != nil && u.version == version {
		u.failed = false
	}
	s.log(Info, "confirmed", "engine", session, "version", version, "announced", announced)
	s.pump()
	return m.confirmedIn, nil
}

// otherWeights reports whether two digests are of different weights; an empty one says nothing of them.
func otherWeights(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) }

// Serves says which version an engine confirmed last, and by which digest; zero when it is gone, or never did.
func (s *Scheduler) Serves(session leases.Session) (version int64, digest []byte) {
	if m := s.members[session]; m != nil {
		return m.confirmed, m.digest
	}
	return 0, nil
}
