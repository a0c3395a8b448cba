package leases

import "fmt"

// maxAhead bounds how far beyond the cursor an adopted group may be: no run retains that many.
const maxAhead = 1 << 32

// Reserve takes up to n groups from the source: those to be replayed first, in group order, then those after the
// cursor. Fewer than n (also none) means that the source has no more to give at present. One event: cursor,
// record and counts change together or not at all. Errors: ErrRefused for a negative n.
func (l *Ledger) Reserve(n int) ([]*Group, error) {
	if n < 0 {
		return nil, fmt.Errorf("%w: cannot reserve %d groups; ask for 0 or more", ErrRefused, n)
	}
	var out []*Group
	for range n {
		g := l.reserveOne()
		if g == nil {
			break
		}
		out = append(out, g)
	}
	return out, nil
}

// ReserveNext is Reserve(1); nil when the source has nothing at present.
func (l *Ledger) ReserveNext() *Group { return l.reserveOne() }

func (l *Ledger) reserveOne() *Group {
	for len(l.urgent) > 0 {
		id := l.urgent[0]
		l.urgent = l.urgent[1:]
		if l.replay.contains(id) {
			l.replay.remove(id, id+1)
			r := l.retries[id]
			delete(l.retries, id)
			return l.becomeReserved(id, r)
		}
	}
	if id, ok := l.replay.popMin(); ok {
		r := l.retries[id]
		delete(l.retries, id)
		return l.becomeReserved(id, r)
	}
	if l.cursor >= l.total() {
		return nil
	}
	l.cursor++
	return l.becomeReserved(l.cursor-1, retry{})
}

// ReserveGroup reserves one group before those that stand ahead of it in the source; nil when it is not there.
func (l *Ledger) ReserveGroup(group int64) *Group {
	if !l.InSource(group) {
		return nil
	}
	return l.becomeReserved(group, l.leaveSource(group))
}

// InSource reports whether a group waits to be reserved, for the first time or again.
func (l *Ledger) InSource(group int64) bool {
	return group >= 0 && group < l.total() && !l.settled.contains(group) && !l.isAway(group) && l.Find(group) == nil
}

// leaveSource takes a group out of the source wherever it stands.
func (l *Ledger) leaveSource(group int64) retry {
	if group >= l.cursor {
		l.replay.add(l.cursor, group)
		l.cursor = group + 1
	} else {
		l.Wake(group)
		l.replay.remove(group, group+1)
	}
	r := l.retries[group]
	delete(l.retries, group)
	return r
}

// Available reports whether Reserve would give a group.
func (l *Ledger) Available() bool { return l.replay.len() > 0 || l.cursor < l.total() }

// Extend lets n groups more be reserved than a finite source has, of the epoch that would follow, and returns how many of them it
// lets: none without Params.NextEpoch, and never more than that epoch. What was reserved of them belongs to the run from then on; a
// later life that finds none reserved begins without.
func (l *Ledger) Extend(n int64) int64 {
	n = min(n, l.source.more(l.nextEpoch)-l.beyond)
	l.beyond += n
	return n
}

// Exhausted reports whether every group of a finite source, or of a stream that has ended, has settled.
func (l *Ledger) Exhausted() bool {
	return !l.Flows() && !l.Available() && l.live.n == 0 && len(l.resting) == 0 && len(l.away) == 0
}

// Dispatch gives a RESERVED group to a worker. The announced version is what the group is charged when its data names none.
func (l *Ledger) Dispatch(g *Group, worker Session) Receipt {
	return l.DispatchAt(g, worker, l.announced.version)
}

// DispatchAt is Dispatch of a group whose data is there already: version was announced when that came.
func (l *Ledger) DispatchAt(g *Group, worker Session, version int64) Receipt {
	l.counter++
	l.becomeExecuting(g, worker, unique(l.term, l.counter), version)
	return l.Receipt(g)
}

// StageReceipt is the right of a session to report one stage of a TERMINAL group: a receipt with an execution number of its own.
func (l *Ledger) StageReceipt(g *Group, session Session) Receipt {
	l.counter++
	r := l.Receipt(g)
	r.Execution, r.Worker = unique(l.term, l.counter), session
	return r
}

// Adopt takes over an execution that a former life of the owner dispatched, if its timeline is this one's and its
// group is neither settled nor reserved; of a stream, if base or log have its number: any other may be another prompt's here. version is what it was charged at dispatch, newest the newest version that it
// may have used: when a run was started from state bytes, work of their timeline goes on under a receipt of this one as
// long as newest is not above the version announced in them. Errors: ErrStale.
func (l *Ledger) Adopt(r Receipt, version, newest int64) (*Group, error) {
	why := ""
	_, ended := l.outcomes.find(r)
	again := l.givenAgain(r.Execution)
	switch {
	case again && r.Timeline != l.timeline:
		why = "its number was given again in this life"
	case ended:
		why = "it has ended, and its data was let go"
	case r.Timeline == l.former && l.former != Timeline{} && newest > l.formerVersion:
		why = fmt.Sprintf("it may have used version %d of that timeline, these weights are of version %d", newest, l.formerVersion)
	case r.Timeline != l.timeline && (r.Timeline != l.former || l.former == Timeline{}):
		why = fmt.Sprintf("the run is in timeline %s", l.timeline)
	case r.Group < 0 || r.Group >= l.total() || r.Group-l.cursor > maxAhead:
		why = "there is no such group"
	case l.stream != nil && r.Group >= l.learned && !again:
		why = "no log that was found has its prompt"
	case l.settled.contains(r.Group):
		why = "the group has settled"
	case l.isAway(r.Group):
		why = "the group went back to its data source"
	case l.Find(r.Group) != nil:
		why = "the group is reserved already"
	case r.Execution>>uniqueBits > l.term.Number:
		why = fmt.Sprintf("it claims a later term than %s", l.term)
	}
	if why != "" {
		return nil, fmt.Errorf("%w: %s cannot be adopted: %s", ErrStale, r, why)
	}
	old := l.leaveSource(r.Group)
	g := l.becomeReserved(r.Group, old)
	g.attempt, g.given = r.Attempt, max(old.attempt, r.Attempt)
	l.becomeExecuting(g, r.Worker, r.Execution, version)
	return g, nil
}

// givenAgain reports whether this life has given the number of an execution. One of a life that it never met may have the same term
// and so the same number; those numbers that it has not given yet, it will not give.
func (l *Ledger) givenAgain(execution uint64) bool {
	counter := execution & (1<<uniqueBits - 1)
	if execution>>uniqueBits != l.term.Number {
		return false
	}
	if counter <= l.counter {
		return true
	}
	if counter-l.counter < maxAhead {
		l.counter = counter
	}
	return false
}

// Find returns a live group, nil for one that is not.
func (l *Ledger) Find(group int64) *Group { return l.live.find(group) }

// Lookup finds the live group that r is the present receipt of. Errors: ErrStale.
func (l *Ledger) Lookup(r Receipt) (*Group, error) {
	g := l.Find(r.Group)
	if g == nil || g.state == Reserved || g.state.Leaves() || l.Receipt(g) != r {
		return nil, fmt.Errorf("%w: %s: %s; the present attempt goes on", ErrStale, r, l.fate(r.Group, g))
	}
	return g, nil
}

// fate says where a group is, for messages.
func (l *Ledger) fate(id int64, g *Group) string {
	switch {
	case g != nil && g.state.Leaves():
		return fmt.Sprintf("the group is %s: it goes back to its data source", g.state)
	case g != nil && g.state == Reserved:
		return fmt.Sprintf("the group is RESERVED as attempt %d", g.attempt)
	case g != nil:
		return fmt.Sprintf("the group is %s as attempt %d execution %d of %s in timeline %s", g.state, g.attempt, g.execution, g.worker, l.timeline)
	case l.settled.contains(id):
		return "the group has settled"
	}
	return "the group is back in its source"
}
