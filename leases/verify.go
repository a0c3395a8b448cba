package leases

import (
	"fmt"
	"maps"
)

// Groups returns the live groups by id. It looks at all of them: for what happens seldom.
func (l *Ledger) Groups() []*Group { return l.live.all() }

// Count returns the number of live groups in a state.
func (l *Ledger) Count(s State) int64 { return l.counts[s] }

// Live returns the number of live groups.
func (l *Ledger) Live() int64 { return int64(l.live.n) }

// Cursor is the first group that was never reserved.
func (l *Ledger) Cursor() int64 { return l.cursor }

// Replay is the number of groups below the cursor that are back in the source.
func (l *Ledger) Replay() int64 { return l.replay.len() + l.Resting() + int64(len(l.away)) }

// Timeline is the present timeline.
func (l *Ledger) Timeline() Timeline { return l.timeline }

// Term is the term in which ids are given.
func (l *Ledger) Term() Term { return l.term }

// RaiseTerm moves on to a later term of the same life.
func (l *Ledger) RaiseTerm(t Term) { l.term = t }

// Start writes the entry that marks a later life in the logs, so that they outrank those that missed it.
func (l *Ledger) Start() Entry { return l.write(&record{kind: recordLife}) }

// Settled reports whether a group is acknowledged, discarded or failed.
func (l *Ledger) Settled(group int64) bool { return l.settled.contains(group) }

// Verify recounts everything and reports the first difference.
func (l *Ledger) Verify() error {
	var counts [states]int64
	var live Tally
	unfinished, finished := byVersion{}, byVersion{}
	for _, g := range l.Groups() {
		id := g.id
		counts[g.state]++
		live.add(g.Tally())
		switch g.state {
		case Executing, Terminal:
			unfinished[g.charged]++
		case Completed:
			finished[g.oldest]++
		}
		switch {
		case l.Find(id) != g:
			return fmt.Errorf("leases: group %d is filed as another", id)
		case l.settled.contains(id) || l.replay.contains(id) || id >= l.cursor:
			return fmt.Errorf("leases: live group %d is also settled, to be replayed, or beyond the cursor", id)
		case (g.state == Leased) != (g.lease != nil):
			return fmt.Errorf("leases: group %d is %s with lease %v", id, g.state, g.lease != nil)
		}
	}
	for id := range l.resting {
		if l.Find(id) != nil || l.settled.contains(id) || l.replay.contains(id) || id >= l.cursor {
			return fmt.Errorf("leases: group %d rests and is also live, settled, to be replayed, or beyond the cursor", id)
		}
	}
	for id := range l.away {
		if l.Find(id) != nil || l.settled.contains(id) || l.replay.contains(id) || id >= l.cursor {
			return fmt.Errorf("leases: group %d is with its data source and is also live, settled, to be replayed, or beyond the cursor", id)
		}
	}
	if counts != l.counts {
		return fmt.Errorf("leases: counts by state are %v, recounted %v", l.counts, counts)
	}
	if !maps.Equal(unfinished, l.unfinished) || !maps.Equal(finished, l.finished) {
		return fmt.Errorf("leases: groups by version are %v unfinished and %v completed, recounted %v and %v", l.unfinished, l.finished, unfinished, finished)
	}
	if live != l.liveTally {
		return fmt.Errorf("leases: live tally is %v, recounted %v", l.liveTally, live)
	}
	if n := l.settled.len() + l.Replay() + int64(l.live.n); n != l.cursor {
		return fmt.Errorf("leases: %d settled + %d to be replayed + %d live are not the %d groups below the cursor", l.settled.len(), l.Replay(), l.live.n, l.cursor)
	}
	if n := l.totals.sum().Groups; n != l.settled.len() {
		return fmt.Errorf("leases: %d groups have settled, the totals count %d", l.settled.len(), n)
	}
	if b := l.Books(); !b.Closed() {
		return fmt.Errorf("leases: the books do not close: %+v", b)
	}
	leased := int64(0)
	for _, lease := range l.open {
		leased += int64(len(lease.Groups))
		for _, g := range lease.Groups {
			if g.state != Leased || g.lease != lease {
				return fmt.Errorf("leases: group %d of admission %d is %s", g.id, lease.Admission, g.state)
			}
		}
	}
	if leased != counts[Leased] {
		return fmt.Errorf("leases: %d groups are LEASED, the leases have %d", counts[Leased], leased)
	}
	// The cut that a new life would compute from base, log and pending must be the present one.
	c, err := l.at(l.last)
	if err != nil {
		return err
	}
	if !l.unowned {
		if n := c.settled.len() + int64(len(l.pending)); n != l.settled.len() {
			return fmt.Errorf("leases: base and log settle %d groups with what is pending, the ledger %d", n, l.settled.len())
		}
		if c.announced.version != l.announced.version {
			return fmt.Errorf("leases: base and log announce version %d, the ledger %d", c.announced.version, l.announced.version)
		}
	}
	return nil
}
