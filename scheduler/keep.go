package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// What a worker has finished is in the memory of its process alone, until a process beside it on the host has a descriptor of the
// same memory: the keeper. It costs no bytes. A group that is kept outlives the loss of its worker; when the keeper is lost, the
// worker is told another one, and hands over what it has.

// Unkept answers Kept: what nobody needs any more, or another member keeps already. Its data can be let go.
type Unkept []leases.Receipt

// chooseKeepers tells each worker of a host who keeps what it finishes, where that has changed.
func (s *Scheduler) chooseKeepers(h *host) {
	if s.cfg.Unowned {
		return // what its workers hold is lost with them
	}
	for _, m := range s.workers {
		if m.host != h {
			continue
		}
		if k := s.keeperFor(m); k != m.keeper {
			m.keeper = k
			by := KeepBy{Session: m.session}
			if k != nil {
				by.Keeper = k.session
			}
			s.emit(by)
		}
	}
}

// keeperFor is the member of another process of the worker's host that was chosen before and is still there, else the one that has
// been there longest. One that generates nothing goes first: workers and engines come and go, are killed by what they generate, and drain.
func (s *Scheduler) keeperFor(m *member) *member {
	fits := func(k *member) bool {
		return k.host == m.host && k.process != "" && m.process != "" && k.process != m.process && !k.draining
	}
	if k := m.keeper; k != nil && s.members[k.session] == k && fits(k) {
		return k
	}
	var worker *member
	for _, k := range s.order {
		switch {
		case !fits(k):
		case k.worker == nil && k.serves == nil:
			return k
		case worker == nil:
			worker = k
		}
	}
	return worker
}

// keeper is the member that keeps a group's data beside its worker, or since its worker is gone; nil: nobody.
func (s *Scheduler) keeper(g *leases.Group) *member {
	if g.Keeper == 0 {
		return nil
	}
	return s.members[g.Keeper]
}

// holder is the member in whose list a finished group is: its worker, or who kept it for a worker that is gone.
func (s *Scheduler) holder(g *leases.Group) *member {
	if m := s.members[g.Worker()]; m != nil {
		return m
	}
	return s.keeper(g)
}

// unlist takes a finished group off its holder's list.
func (s *Scheduler) unlist(g *leases.Group) {
	if m := s.holder(g); m != nil && m.holding.has(g) {
		m.holding.remove(g)
	}
}

// holdFor counts a finished group as held by a member: by its worker, or by the keeper that brought it to this life of the owner.
func (s *Scheduler) holdFor(m *member, g *leases.Group) {
	if m.session != g.Worker() {
		g.Keeper = m.session
		s.stats.Kept++
	}
	m.holding.push(g)
}

// allKept reports whether a member could go and nothing that it holds would be lost.
func (s *Scheduler) allKept(m *member) bool {
	for g := range m.holding.all() {
		if k := s.keeper(g); k == nil || k == m || k.draining {
			return false
		}
	}
	return true
}

// Kept says that a member has the data of finished executions of a worker beside it, each with its outcome: when it attaches again
// it says so of all that it keeps, also for workers that the owner has not met in this life. Waits for the base.
// Answer: Unkept. No Release follows for what that names. Errors: ErrUnknown (no attached member), ErrClosed.
func (s *Scheduler) Kept(t Ticket, session leases.Session, kept []Held) {
	if s.later(t, func() { s.Kept(t, session, kept) }) {
		return
	}
	m := s.members[session]
	switch {
	case s.dead != nil:
		s.answer(t, nil, s.dead)
		return
	case m == nil:
		s.answer(t, nil, fmt.Errorf("%w: session %s is not attached", leases.ErrUnknown, session))
		return
	}
	unkept := Unkept{}
	for _, h := range kept {
		if r := s.present(h.Receipt); r != h.Receipt {
			h.Receipt = r
			s.emit(Carried{Session: session, Receipts: []leases.Receipt{r}})
		}
		if !s.keep(m, h) {
			unkept = append(unkept, h.Receipt)
		}
	}
	s.answer(t, unkept, nil)
	for _, w := range s.workers {
		s.checkDrained(w)
	}
	s.pump()
}

// keep takes note of one group that a member keeps; false when it need not.
func (s *Scheduler) keep(m *member, h Held) bool {
	g, err := s.ledger.Lookup(h.Receipt)
	if err != nil || g.State() < leases.Terminal {
		g = s.bring(m, h)
	}
	if g == nil {
		return false
	}
	before := s.keeper(g)
	switch {
	case before == m:
		return true
	case before != nil && !before.draining:
		return false
	}
	s.unlist(g)
	g.Keeper = m.session
	s.stats.Kept++
	s.holder(g).holding.push(g)
	return true
}

// bring finishes a group whose worker this life of the owner does not know, or does not know to have finished it, by what its keeper
// says; nil when the group is not to be had.
func (s *Scheduler) bring(m *member, h Held) *leases.Group {
	if h.Outcome == nil || h.Outcome.Kind != leases.Success {
		return nil
	}
	e := s.running.find(h.Receipt)
	if e == nil || e.receipt != h.Receipt {
		if s.members[h.Receipt.Worker] != nil {
			return nil // which has said what it has
		}
		var err error
		if e, err = s.takeOver(m, h); err != nil {
			s.log(Info, "not kept", "group", h.Receipt.Group, "keeper", m.session, "why", err)
			return nil
		}
		s.bereft = slices.DeleteFunc(s.bereft, func(b bereft) bool {
			return b.receipt.Worker == h.Receipt.Worker && b.receipt.Execution == h.Receipt.Execution
		})
	}
	if e.group == nil {
		return nil // its worker says when it is over
	}
	r := e.receipt
	if err := s.terminal(r, *h.Outcome); err != nil {
		return nil
	}
	g, err := s.ledger.Lookup(r)
	if err != nil {
		return nil
	}
	return g
}
