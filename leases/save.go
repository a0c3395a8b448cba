package leases

import (
	"fmt"
	"sort"
)

// State returns the bytes of the cut at rollout. It needs no drain: what is not settled at that rollout is, by
// definition, to be replayed.
// Errors: ErrConflict (a lease of a rollout up to it is open, or it is not committed), ErrState (below the base).
func (l *Ledger) State(rollout int64) ([]byte, error) {
	if l.unowned {
		return l.unownedState(), nil
	}
	if rollout < l.base.rollout {
		return nil, fmt.Errorf("%w: state of rollout %d: saved(%d) let go of what came before", ErrState, rollout, l.base.rollout)
	}
	for _, lease := range l.OpenLeases() {
		if lease.Rollout <= rollout {
			return nil, fmt.Errorf("%w: state of rollout %d: rollout %d is open (admission %d, %s); commit or roll it back first", ErrConflict, rollout, lease.Rollout, lease.Admission, lease.state)
		}
	}
	if rollout > l.last {
		return nil, fmt.Errorf("%w: state of rollout %d: the last committed rollout is %d", ErrConflict, rollout, l.last)
	}
	c, err := l.at(rollout)
	if err != nil {
		return nil, err
	}
	if c.rollout != rollout {
		return nil, fmt.Errorf("%w: state of rollout %d: nothing was committed under it; the last commit before it is rollout %d: give that", ErrConflict, rollout, c.rollout)
	}
	l.given[rollout] = true
	return c.encode(), nil
}

// unownedState is the position of a run without ownership: what is under way counts as lost.
func (l *Ledger) unownedState() []byte {
	c := *l.base
	c.source, c.rollout, c.cursor, c.timeline, c.announced = l.source, l.last, l.cursor, l.timeline, l.announced
	c.totals, c.settled = l.totals.clone(), &ranges{}
	c.settled.add(0, l.cursor)
	lost := l.liveTally
	lost.Groups = l.cursor - c.totals.sum().Groups
	if lost.Groups > 0 {
		c.totals.discard("lost", lost)
	}
	l.given[l.last] = true
	return c.encode()
}

// Saved moves the base to a rollout whose state was given: what trainers keep shrinks to the entries after it.
// Errors: ErrConflict (no state was given for it in this timeline), ErrState (below the base).
func (l *Ledger) Saved(rollout int64) error {
	if l.unowned {
		return nil
	}
	if rollout < l.base.rollout {
		return fmt.Errorf("%w: saved(%d): saved(%d) came before", ErrState, rollout, l.base.rollout)
	}
	if !l.given[rollout] || rollout > l.last {
		return fmt.Errorf("%w: saved(%d): no state of that rollout was given since the run last rewound; call state(%d) first", ErrConflict, rollout, rollout)
	}
	c, err := l.at(rollout)
	if err != nil {
		return err
	}
	l.base, l.baseBytes = c, c.encode()
	if l.stream != nil {
		l.gone = append(l.gone, l.stream.letGo(c.settled)...)
		l.spareSettled(c.settled)
	}
	if n := len(l.log); n > 0 {
		i := sort.Search(n, func(i int) bool { return l.log[i].Index > c.index })
		l.log = append([]Entry(nil), l.log[i:]...)
	}
	kept := []*record(nil)
	for _, r := range l.effective {
		if r.kind == recordCommit && r.rollout > rollout || r.kind == recordVersion && r.index > c.index {
			kept = append(kept, r)
		}
	}
	l.effective = kept
	for r := range l.given {
		if r < rollout {
			delete(l.given, r)
		}
	}
	return nil
}
