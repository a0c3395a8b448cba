package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// NoPromise is the promise of an execution on a host without a byte bound.
const NoPromise int64 = -1

// A host's bytes are counted before they exist. Each execution is promised as much as the largest group seen on its host, from its
// dispatch to its end; one that needs more asks for it (Credit) before it writes, and waits where the bound leaves no room:
//
//	written + promised ≤ bytes
//
// holds but for what was overdrawn, and for what came from a former life of the owner.

// Credited is the answer to Credit: that much may be written for the executions.
type Credited struct{ Bytes int64 }

// credit is one producer that waits to write.
type credit struct {
	ticket Ticket
	parts  []*running
	bytes  []int64 // of each part
}

// more is what the executions need beyond what they are promised.
func (c *credit) more() int64 {
	var n int64
	for i, e := range c.parts {
		n += max(0, c.bytes[i]-e.counted())
	}
	return n
}

// oldest is the first of its executions to have started.
func (c *credit) oldest() uint64 {
	seq := c.parts[0].seq
	for _, e := range c.parts {
		seq = min(seq, e.seq)
	}
	return seq
}

func (c *credit) has(e *running) bool { return slices.Contains(c.parts, e) }

// bytesLimit is a host's bound: the given one, else half of the memory that its processes may use; 0 is none.
func (s *Scheduler) bytesLimit(h *host) int64 {
	switch {
	case s.cfg.Unowned:
		return 0
	case s.limits.Bytes > 0:
		return s.limits.Bytes
	}
	return h.memory / 2
}

// promise is what an execution that begins on a host may write without asking.
func (s *Scheduler) promise(h *host) int64 {
	if s.bytesLimit(h) == 0 {
		return NoPromise
	}
	return h.largest
}

// Credit asks for leave to write bytes[i] bytes for the execution of receipts[i], all of one worker, before they are written: all or
// none. Answer: Credited, when there is room; producers of one host wait in turn. Errors: ErrData (more than the host's whole bound),
// ErrStale (an execution is over, or its group went elsewhere), ErrRefused, ErrClosed.
func (s *Scheduler) Credit(t Ticket, receipts []leases.Receipt, bytes []int64) {
	c := &credit{ticket: t, bytes: bytes}
	var total int64
	for _, n := range bytes {
		total += n
	}
	switch {
	case s.dead != nil:
		s.answer(t, nil, s.dead)
	case s.closing != nil:
		s.answer(t, nil, s.closing.why("closing"))
	case len(receipts) == 0 || len(receipts) != len(bytes) || slices.Min(bytes) < 0:
		s.answer(t, nil, fmt.Errorf("%w: a credit for %d executions names %v bytes; give one number of bytes for each", leases.ErrRefused, len(receipts), bytes))
	case s.ledger == nil:
		// What runs is not known yet; it is counted when it is reported.
		s.answer(t, Credited{total}, nil)
	default:
		if err := s.credit(c, receipts, total); err != nil {
			s.answer(t, nil, err)
			return
		}
		h := c.parts[0].m.host
		if s.bytesLimit(h) == 0 {
			s.answer(t, Credited{total}, nil)
			return
		}
		h.credits = append(h.credits, c)
		s.pump()
	}
}

// credit finds the executions of a credit and refuses what could never be given.
func (s *Scheduler) credit(c *credit, receipts []leases.Receipt, total int64) error {
	for _, r := range receipts {
		r = s.present(r)
		e := s.running.find(r)
		if e == nil || e.receipt != r || e.group == nil {
			return fmt.Errorf("%w: %s is not running", leases.ErrStale, r)
		}
		if e.m != s.members[receipts[0].Worker] {
			return fmt.Errorf("%w: %s is of another worker than the first receipt of this credit; ask for each worker's own", leases.ErrRefused, r)
		}
		c.parts = append(c.parts, e)
	}
	h := c.parts[0].m.host
	limit := s.bytesLimit(h)
	if limit == 0 || total <= limit {
		return nil
	}
	what := fmt.Sprintf("group %d is %d bytes", receipts[0].Group, total)
	if n := len(receipts); n > 1 {
		what = fmt.Sprintf("%d groups in one segment are %d bytes", n, total)
	}
	return fmt.Errorf("%w: %s, the whole budget of host %s is bytes=%d; raise limits.bytes to at least %d, or make it smaller", leases.ErrData, what, h.name, limit, total)
}

// serveCredits gives leave to write as far as the hosts' bounds go.
func (s *Scheduler) serveCredits() {
	for _, m := range s.workers {
		for h := m.host; len(h.credits) > 0; {
			if c := h.given(); c != nil {
				s.grantCredit(h, c)
				continue
			}
			c := h.turn()
			if h.written+h.promised+c.more() > s.bytesLimit(h) {
				if c = s.overdrawn(h); c == nil {
					break
				}
			}
			s.grantCredit(h, c)
		}
	}
}

// given is a credit that needs nothing beyond what its executions have: it was given before, and the answer was lost with a
// connection. Waiting for room it might wait for itself. Nil for none.
func (h *host) given() *credit {
	for _, c := range h.credits {
		if c.more() == 0 {
			return c
		}
	}
	return nil
}

// turn is whose turn it is: of the producers that wait, the one whose last credit is longest ago; each producer's own in order.
// Nobody overtakes it, so that a large group is not kept waiting by small ones.
func (h *host) turn() *credit {
	best := h.credits[0]
	for _, c := range h.credits {
		if c.parts[0].m.credited < best.parts[0].m.credited {
			best = c
		}
	}
	return best
}

// overdrawn is the credit that goes beyond the bound because something waits for it that keeps the bytes from being freed: the oldest
// one, of one execution at a time. Nil: nothing does.
func (s *Scheduler) overdrawn(h *host) *credit {
	if h.overdraws > 0 {
		return nil
	}
	oldest := h.credits[0]
	for _, c := range h.credits {
		if c.oldest() < oldest.oldest() {
			oldest = c
		}
	}
	needed := len(s.takes) > 0 && len(s.holds) == 0 && s.waiting.n+s.stages.n == 0 && s.incomplete(s.takes[0].want) || oldest.parts[0].m.draining
	for _, hold := range s.holds {
		needed = needed || oldest.oldest() <= hold.frontier
	}
	if !needed {
		return nil
	}
	s.overdraw(oldest.parts[0].m)
	for _, e := range oldest.parts {
		e.overdraws = true
		h.overdraws++
	}
	return oldest
}

func (s *Scheduler) grantCredit(h *host, c *credit) {
	s.creditSeq++
	c.parts[0].m.credited = s.creditSeq
	h.credits = slices.DeleteFunc(h.credits, func(o *credit) bool { return o == c })
	var total int64
	for i, e := range c.parts {
		h.promised += max(0, c.bytes[i]-e.counted())
		e.promised = max(e.promised, c.bytes[i])
		total += c.bytes[i]
	}
	s.restartAll(c)
	s.answer(c.ticket, Credited{total}, nil)
}

// waitsToWrite reports whether an execution has ended and waits for its host to have room.
func (e *running) waitsToWrite() bool {
	return slices.ContainsFunc(e.m.host.credits, func(c *credit) bool { return c.has(e) })
}

// restartAll begins the deadlines of executions anew that others kept waiting.
func (s *Scheduler) restartAll(c *credit) {
	for _, e := range c.parts {
		if e.clock == &s.deadlines {
			s.restart(e)
		}
	}
}

// endCredit refuses what an execution waits for: it is over, or its group has gone elsewhere.
func (s *Scheduler) endCredit(e *running) {
	h := e.m.host
	for i := 0; i < len(h.credits); {
		c := h.credits[i]
		if !c.has(e) {
			i++
			continue
		}
		h.credits = slices.Delete(h.credits, i, i+1)
		s.restartAll(c)
		s.answer(c.ticket, nil, fmt.Errorf("%w: %s is not running any more", leases.ErrStale, e.receipt))
	}
}

// failCredits refuses everything that waits to write.
func (s *Scheduler) failCredits(err error) {
	for _, m := range s.workers {
		for _, c := range m.host.credits {
			s.answer(c.ticket, nil, err)
		}
		m.host.credits = nil
	}
}
