package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// Offered answers an Offer.
type Offered struct {
	// Assignment is the execution that the worker reports its data by. Nil: nobody waits for the data, because the group is with
	// another worker, has been finished, or has settled.
	Assignment *Assignment
	// Gone is the offer's id when its group has settled in a saved state: the worker need not keep the prompt.
	Gone []leases.PushID
}

// Offer gives a stream a group that a worker has made by itself: its prompt is pushed, and the group reserved for that worker,
// which reports the data as that of any other execution. Its samples have ended, so it takes no slots and counts as none that
// executes; from then on it is a group as any other, and goes back to the source as one. Data that names no version counts as of
// the one that is announced at this call.
//
// It waits as a push does, and then, with its prompt in the source, until a trainer's log has that, no hold stands, and pace and
// retained have room; without wait it is refused where there is no trainer, or no room. Of a group that somebody has, or that has settled, nothing more is wanted; one that is back in the source is
// reserved again. Answer: Offered. Errors: as Push; ErrRefused also for what is no worker, or one that drains; ErrStale when the
// run went back behind that version meanwhile: the prompt stays in the source.
func (s *Scheduler) Offer(t Ticket, session leases.Session, push leases.Push, wait bool) {
	if s.later(t, func() { s.Offer(t, session, push, wait) }) {
		return
	}
	if err := s.checkOffer(session, push, wait); err != nil {
		s.answer(t, nil, err)
		return
	}
	m := s.members[session]
	m.asked, m.offers = true, true
	announced := s.ledger.Version()
	s.pushes = append(s.pushes, &pushing{ticket: t, session: session, pushes: []leases.Push{push}, offer: true, version: announced})
	s.pump()
}

func (s *Scheduler) checkOffer(session leases.Session, push leases.Push, wait bool) error {
	if err := s.checkPush(session, []leases.Push{push}, wait); err != nil {
		return err
	}
	m := s.members[session]
	switch {
	case m.worker == nil:
		return fmt.Errorf("%w: session %s offers a group and is no worker; attach as one, or push the prompt", leases.ErrRefused, session)
	case m.draining:
		return fmt.Errorf("%w: worker %s drains and offers a group; offer it from another worker", leases.ErrRefused, m.name)
	}
	if group := s.ledger.GroupOf(push.ID); wait || group >= 0 && !s.ledger.InSource(group) {
		return nil
	}
	if why := s.keepsOut(); why != "" {
		return fmt.Errorf("%w: no offered group is taken at present: %s; wait for it", leases.ErrRefused, why)
	}
	return nil
}

// serveOffers answers the offers whose groups can be reserved, or are not to be; the others wait.
func (s *Scheduler) serveOffers() {
	s.offers = slices.DeleteFunc(s.offers, s.serveOffer)
}

// serveOffer reports whether an offer has been answered.
func (s *Scheduler) serveOffer(p *pushing) bool {
	m, id := s.members[p.session], p.pushes[0].ID
	group := s.ledger.GroupOf(id)
	if !s.ledger.InSource(group) {
		out := Offered{}
		if s.ledger.Settles(id) {
			out.Gone = []leases.PushID{id}
		}
		s.answer(p.ticket, out, nil)
		return true
	}
	// Its data carries the number of its group, which a later life of the owner knows by a log alone.
	if s.keepsOut() != "" || !s.inALog(p.entry) {
		return false
	}
	delete(s.rests.due, group)
	delete(s.lastChance, group)
	g := s.ledger.ReserveGroup(group)
	e := s.begin(m, g, s.ledger.DispatchAt(g, m.session, p.version))
	s.beginOffered(e)
	s.stats.Dispatched++
	a := s.assignment(e)
	s.answer(p.ticket, Offered{Assignment: &a}, nil)
	return true
}

// beginOffered takes off the accounts what an execution whose samples have ended does not need.
func (s *Scheduler) beginOffered(e *running) {
	e.offered = true
	s.uncharge(e, 0)
	e.m.host.promised -= e.counted()
	e.promised = min(e.promised, 0)
}

// keepsOut says what keeps offers from being reserved; empty when nothing does. The bytes of a host do not: they are asked for
// before they are written (Credit).
func (s *Scheduler) keepsOut() string {
	switch {
	case len(s.holds) > 0:
		return "the run is held: " + s.holds[0].reason
	case !s.granting:
		return "a restarted owner waits for its members"
	case len(s.logged()) == 0:
		return "no trainer is here to log it, and it would be lost with the owner"
	case s.paced():
		return "it could be too stale when it is trained (pace)"
	case s.ledger.Live() >= s.limits.Retained:
		return fmt.Sprintf("%d groups are retained, retained=%d", s.ledger.Live(), s.limits.Retained)
	}
	return ""
}

// outdateOffers refuses the offers that wait with data of weights which the run has gone back from.
func (s *Scheduler) outdateOffers(version int64) {
	s.failPushes(fmt.Errorf("%w: the run went back to version %d while the offer waited with data of later weights; its prompt stays in the source", leases.ErrStale, version),
		func(p *pushing) bool { return p.offer && p.version > version })
}
