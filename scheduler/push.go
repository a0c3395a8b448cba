package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// defaultWaiting is how many pushed groups may be unsettled.
const defaultWaiting = 1024

// pushing is a call that gives prompts to a stream, or its end; it waits for those before it, and for room.
type pushing struct {
	ticket  Ticket
	session leases.Session
	pushes  []leases.Push
	end     bool
	offer   bool   // its session has the data of its one push,
	version int64  // and this was announced when that came.
	entry   uint64 // The log has that push up to here, once it is taken
}

// Pushed answers a Push.
type Pushed struct {
	// Fresh counts the pushes that were not known.
	Fresh int
	// Gone are those whose group has settled in a saved state: their producer need not keep them.
	Gone []leases.PushID
}

// Push gives prompts to a stream, in order. What was pushed before with equal content counts once, however often it is
// said. With wait the call waits until there is room for all that is new, or a take needs it; else it is refused. Answer: Pushed.
// Errors: ErrConflict (other content), ErrRefused (no stream, one that has ended, more than there can ever be room for).
func (s *Scheduler) Push(t Ticket, session leases.Session, pushes []leases.Push, wait bool) {
	if s.later(t, func() { s.Push(t, session, pushes, wait) }) {
		return
	}
	if err := s.checkPush(session, pushes, wait); err != nil {
		s.answer(t, nil, err)
		return
	}
	s.pushes = append(s.pushes, &pushing{ticket: t, session: session, pushes: pushes})
	s.pump()
}

func (s *Scheduler) checkPush(session leases.Session, pushes []leases.Push, wait bool) error {
	if err := s.openErr(); err != nil {
		return err
	}
	if s.members[session] == nil {
		return fmt.Errorf("%w: session %s pushes without being attached; attach first", leases.ErrRefused, session)
	}
	fresh, err := s.ledger.CheckPush(pushes)
	if err != nil {
		return err
	}
	n, most := s.ledger.Unsettled(), s.cfg.Waiting
	switch {
	case fresh == 0:
		return nil
	case int64(fresh) > most:
		return fmt.Errorf("%w: a push of %d groups; at most %d may be unsettled: push fewer in each call, or raise waiting", leases.ErrRefused, fresh, most)
	case slices.ContainsFunc(s.pushes, func(p *pushing) bool { return p.end }):
		return fmt.Errorf("%w: the stream is about to end: nothing new can be pushed", leases.ErrRefused)
	case !wait && !s.ledger.RoomFor(pushes):
		return fmt.Errorf("%w: no room for the rows of %d more groups: %d bytes are kept since the last saved rollout; call saved(R) when a checkpoint is durable", leases.ErrRefused, fresh, s.ledger.Held())
	case !wait && (len(s.pushes) > 0 || n+int64(fresh) > most):
		return fmt.Errorf("%w: no room for %d more groups: %d of at most %d are unsettled, and %d calls wait; wait for it, or raise waiting", leases.ErrRefused, fresh, n, most, len(s.pushes))
	}
	return nil
}

// EndStream says that nothing new will be pushed: the run ends when all that was has settled. It comes after the pushes
// that wait. Answer: nil. Errors: ErrRefused (no stream).
func (s *Scheduler) EndStream(t Ticket, session leases.Session) {
	if s.later(t, func() { s.EndStream(t, session) }) {
		return
	}
	err := s.openErr()
	if err == nil && !s.cfg.Source.Stream {
		_, _, err = s.ledger.EndStream()
	}
	if err != nil {
		s.answer(t, nil, err)
		return
	}
	s.pushes = append(s.pushes, &pushing{ticket: t, session: session, end: true})
	s.pump()
}

// servePushes takes the pushes that there is room for, in order. It reports whether any was.
func (s *Scheduler) servePushes() bool {
	took := false
	for len(s.pushes) > 0 {
		p := s.pushes[0]
		fresh, err := s.ledger.CheckPush(p.pushes)
		if err == nil && fresh > 0 && s.ledger.Unsettled()+int64(fresh) > s.cfg.Waiting && !s.lacksPushes() {
			break
		}
		if err == nil && !s.ledger.RoomFor(p.pushes) {
			s.sayFull()
			break
		}
		s.pushes = s.pushes[1:]
		took = true
		if err != nil {
			s.answer(p.ticket, nil, err)
			continue
		}
		s.takePush(p)
	}
	return took
}

// lacksPushes reports whether a take waits and nothing that was pushed can be added to what is there for it: a push that waits for
// room would wait for itself.
func (s *Scheduler) lacksPushes() bool {
	return len(s.takes) > 0 && s.incomplete(s.takes[0].want) && s.exhausted()
}

// takePush writes a push, or the end, into the trainers' logs. It is answered at once: until a log has it, the producer
// keeps it, as it does until its group has settled in a saved state.
func (s *Scheduler) takePush(p *pushing) {
	if p.end {
		entry, first, err := s.ledger.EndStream()
		s.must(err)
		if first {
			s.appendAll(entry)
		}
		s.answer(p.ticket, nil, nil)
		return
	}
	entry, fresh := s.ledger.Push(p.pushes)
	if fresh > 0 {
		s.appendAll(entry)
	}
	if p.offer {
		p.entry = s.ledger.NextIndex() - 1
		s.offers = append(s.offers, p)
		return
	}
	out := Pushed{Fresh: fresh}
	for _, one := range p.pushes {
		if s.ledger.Settles(one.ID) {
			out.Gone = append(out.Gone, one.ID)
		}
	}
	s.answer(p.ticket, out, nil)
}

// sayFull says once that nothing can be pushed, or asked of a pulled source, before a state is saved.
func (s *Scheduler) sayFull() {
	if !s.saidFull {
		s.log(Warn, "pushes wait for a saved state: their rows are kept until then; call saved(R) when a checkpoint is durable", "bytes", s.ledger.Held())
	}
	s.saidFull = true
}

func (s *Scheduler) appendAll(entry Entry) {
	if to := sessions(s.logged()); len(to) > 0 {
		s.emit(Append{Sessions: to, Entry: entry})
	}
}

// failPushes gives up the pushes and offers that wait, all or those of one session.
func (s *Scheduler) failPushes(err error, of func(*pushing) bool) {
	fail := func(p *pushing) bool {
		gone := of == nil || of(p)
		if gone {
			s.answer(p.ticket, nil, err)
		}
		return gone
	}
	s.pushes, s.offers = slices.DeleteFunc(s.pushes, fail), slices.DeleteFunc(s.offers, fail)
}

// letGo tells everybody which pushes nobody needs to keep.
func (s *Scheduler) letGo() {
	if gone := s.ledger.Gone(); len(gone) > 0 {
		if !s.cfg.Source.Pulled {
			s.emit(LetGo{IDs: gone})
		}
		s.saidFull = false
	}
}
