package leases

import (
	"fmt"
	"math"
)

// maxReasons bounds the distinct discard reasons in the books; the rest count as "other".
const (
	maxReasons   = 64
	maxReasonLen = 80
)

// Complete gives a TERMINAL group a place in the buffer.
func (l *Ledger) Complete(g *Group) { l.becomeCompleted(g) }

// Reopen takes a COMPLETED group out of the buffer: some of its columns are lost and made again.
func (l *Ledger) Reopen(g *Group) { l.becomeTerminalAgain(g) }

// Fail settles a TERMINAL group that a stage after its generation cannot do anything with.
func (l *Ledger) Fail(g *Group) {
	l.outcomes.add(l.Receipt(g), g.print, Failed)
	l.pending = append(l.pending, pendingSettled{group: g.id, failed: true, tally: g.Tally(), rollout: l.last + 1})
	l.becomeFailed(g)
}

// Abandon returns a group that is RESERVED or EXECUTING, or whose data is lost before it was leased, to the
// source. It uses up no data attempt.
func (l *Ledger) Abandon(g *Group) {
	losses := g.losses
	if g.state >= Terminal {
		losses = 0 // this execution got through
	}
	l.becomeRequeued(g, g.failures, losses)
}

// Interrupt returns an EXECUTING group whose execution was lost, with its worker or to its deadline, to the source. It
// uses up no data attempt. The answer is that of CountLoss.
func (l *Ledger) Interrupt(g *Group) int {
	id := g.id
	l.becomeRequeued(g, g.failures, g.losses)
	return l.CountLoss(id)
}

// CountLoss counts the last execution of a group that is back in the source, or on its way there, as lost. The answer is how many in a row
// were, at most 255.
func (l *Ledger) CountLoss(group int64) int {
	if g := l.Find(group); g != nil {
		g.losses = min(g.losses, math.MaxUint8-1) + 1
		return int(g.losses)
	}
	r := l.retries[group]
	r.losses = min(r.losses, math.MaxUint8-1) + 1
	l.retries[group] = r
	return int(r.losses)
}

// Rest keeps a group that is back in the source from being reserved until Wake; false for one that is not: a pulled source gives
// its groups when it likes. A rewind wakes every group.
func (l *Ledger) Rest(group int64) bool {
	if !l.replay.contains(group) {
		return false
	}
	l.replay.remove(group, group+1)
	l.resting[group] = struct{}{}
	return true
}

// Wake ends a group's rest; a group that does not rest stays as it is.
func (l *Ledger) Wake(group int64) {
	if _, ok := l.resting[group]; ok {
		delete(l.resting, group)
		l.replay.add(group, group+1)
	}
}

// WakeFirst is Wake, and the group is reserved before all others.
func (l *Ledger) WakeFirst(group int64) {
	if _, ok := l.resting[group]; ok {
		l.Wake(group)
		l.urgent = append(l.urgent, group)
	}
}

// RequeueStale returns a COMPLETED group that is too stale to the source by its terminal receipt.
// Errors: ErrStale, ErrRefused.
func (l *Ledger) RequeueStale(r Receipt) error {
	if g, err := l.Lookup(r); err == nil && g.requeues < math.MaxUint8 {
		g.requeues++
	}
	return l.Requeue(r)
}

// Resting is the number of groups that are kept from being reserved.
func (l *Ledger) Resting() int64 { return int64(len(l.resting)) }

// Lose settles a group of an unowned run whose worker or data is lost: nobody generates it again.
func (l *Ledger) Lose(g *Group) { l.discard(g, "lost", l.last+1) }

// Requeue returns TERMINAL or COMPLETED groups to the source by their terminal receipts: all or none.
// Errors: ErrStale, ErrRefused (an execution that has not ended).
func (l *Ledger) Requeue(receipts ...Receipt) error {
	groups, err := l.settleable(Requeued, receipts)
	if err != nil {
		return err
	}
	for _, g := range groups {
		l.outcomes.add(l.Receipt(g), g.print, Requeued)
		l.becomeRequeued(g, g.failures, 0)
	}
	return nil
}

// Discard settles TERMINAL or COMPLETED groups without training, by their terminal receipts: all or none. A
// receipt that was discarded before is answered as it was then. Errors: ErrStale, ErrRefused.
func (l *Ledger) Discard(reason string, receipts ...Receipt) error {
	groups, err := l.settleable(Discarded, receipts)
	if err != nil {
		return err
	}
	for _, g := range groups {
		l.outcomes.add(l.Receipt(g), g.print, Discarded)
		l.discard(g, reason, l.last+1)
	}
	return nil
}

// settleable finds the groups of a batch of terminal receipts, or the reason why none of them can be settled.
func (l *Ledger) settleable(to State, receipts []Receipt) ([]*Group, error) {
	var out []*Group
	seen := map[int64]bool{}
	for _, r := range receipts {
		g, err := l.Lookup(r)
		if err != nil {
			if o, ok := l.outcomes.find(r); ok && o.state == to && to == Discarded {
				continue
			}
			return nil, err
		}
		if g.state != Terminal && g.state != Completed {
			return nil, fmt.Errorf("%w: %s is %s: only a terminal receipt outside a lease can be settled", ErrRefused, r, g.state)
		}
		if !seen[g.id] {
			seen[g.id] = true
			out = append(out, g)
		}
	}
	return out, nil
}

// fail settles g as failed data; the next commit carries that to the trainers' logs.
func (l *Ledger) fail(g *Group) {
	l.pending = append(l.pending, pendingSettled{group: g.id, failed: true, tally: g.Tally(), rollout: l.last + 1})
	l.becomeFailed(g)
}

// discard settles g without training; the commit of rollout or a later one carries that to the trainers' logs.
func (l *Ledger) discard(g *Group, reason string, rollout int64) {
	reason = l.reason(reason)
	l.pending = append(l.pending, pendingSettled{group: g.id, reason: reason, tally: g.Tally(), rollout: rollout})
	l.becomeDiscarded(g, reason)
}

func (l *Ledger) reason(s string) string {
	if s == "" {
		s = "unnamed"
	}
	if len(s) > maxReasonLen {
		s = s[:maxReasonLen]
	}
	for _, d := range l.totals.Discarded {
		if d.Reason == s {
			return s
		}
	}
	if len(l.totals.Discarded) >= maxReasons {
		return "other"
	}
	return s
}
