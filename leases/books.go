package leases

import "sort"

// Tally counts groups with their samples and tokens.
type Tally struct{ Groups, Samples, Tokens int64 }

// Plus is the sum of two tallies.
func (t Tally) Plus(u Tally) Tally {
	return Tally{t.Groups + u.Groups, t.Samples + u.Samples, t.Tokens + u.Tokens}
}

// Minus is the difference of two tallies.
func (t Tally) Minus(u Tally) Tally {
	return Tally{t.Groups - u.Groups, t.Samples - u.Samples, t.Tokens - u.Tokens}
}

func (t *Tally) add(u Tally) { *t = t.Plus(u) }
func (t *Tally) sub(u Tally) { *t = t.Minus(u) }

// ReasonTally counts what was discarded for one reason.
type ReasonTally struct {
	Reason string
	Tally  Tally
}

// Books are the run's accounts. They close when
// Reserved = Acknowledged + sum(Discarded) + Failed + Live, in groups, samples and tokens.
type Books struct {
	// Reserved counts groups that left the source and have not gone back to it.
	Reserved     Tally
	Acknowledged Tally
	// Discarded is ordered by reason.
	Discarded []ReasonTally
	Failed    Tally
	// Live counts groups that are RESERVED, EXECUTING, TERMINAL, COMPLETED or LEASED.
	Live Tally
	// Requeued counts reservations that went back to the source, over this life of the owner.
	Requeued int64
}

// Closed reports whether the books close.
func (b Books) Closed() bool {
	t := totals{Acknowledged: b.Acknowledged, Failed: b.Failed, Discarded: b.Discarded}.sum()
	t.add(b.Live)
	return t == b.Reserved
}

// totals are the settled part of the books.
type totals struct {
	Acknowledged, Failed Tally
	Discarded            []ReasonTally // ordered by reason, no empty one
}

func (t *totals) discard(reason string, u Tally) {
	i := sort.Search(len(t.Discarded), func(i int) bool { return t.Discarded[i].Reason >= reason })
	if i == len(t.Discarded) || t.Discarded[i].Reason != reason {
		t.Discarded = append(t.Discarded, ReasonTally{})
		copy(t.Discarded[i+1:], t.Discarded[i:])
		t.Discarded[i] = ReasonTally{Reason: reason}
	}
	t.Discarded[i].Tally.add(u)
}

func (t totals) sum() Tally {
	out := t.Acknowledged
	out.add(t.Failed)
	for _, d := range t.Discarded {
		out.add(d.Tally)
	}
	return out
}

func (t totals) clone() totals {
	t.Discarded = append([]ReasonTally(nil), t.Discarded...)
	return t
}

// Books returns the accounts. O(number of discard reasons).
func (l *Ledger) Books() Books {
	t := l.totals.clone()
	return Books{
		Reserved: l.reserved, Acknowledged: t.Acknowledged, Discarded: t.Discarded, Failed: t.Failed,
		Live: l.liveTally, Requeued: l.requeued,
	}
}
