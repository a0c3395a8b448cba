package leases

import "fmt"

// State is where a group is in its life.
type State uint8

// States of a group. The last four end a record: the group is settled or back in the source.
const (
	Free State = iota
	Reserved
	Executing
	Terminal
	Completed
	Leased
	// Returning is on its way back to a pulled source, and RollbackFailed could not get there: both are owned until they have.
	Returning
	RollbackFailed
	Acknowledged
	Discarded
	Failed
	Requeued
	states
)

var stateNames = [states]string{
	"FREE", "RESERVED", "EXECUTING", "TERMINAL", "COMPLETED", "LEASED", "RETURNING", "ROLLBACK_FAILED", "ACKNOWLEDGED", "DISCARDED", "FAILED", "REQUEUED",
}

func (s State) String() string { return stateNames[min(s, states-1)] }

// back is how a group leaves for its source.
const back = 1<<Requeued | 1<<Returning

// legal[s] has a bit for each state that may follow s.
var legal = [states]uint16{
	Free:      1 << Reserved,
	Reserved:  1<<Executing | back | 1<<Failed,
	Executing: 1<<Terminal | back | 1<<Failed | 1<<Discarded,
	Terminal:  1<<Completed | back | 1<<Discarded | 1<<Failed,
	Completed: 1<<Terminal | 1<<Leased | back | 1<<Discarded | 1<<Acknowledged,
	Leased:    1<<Acknowledged | back | 1<<Discarded,

	Returning:      1<<Requeued | 1<<RollbackFailed,
	RollbackFailed: 1 << Returning,
}

// Leaves reports whether a group is on its way back to a pulled source: no receipt speaks for it any more.
func (s State) Leaves() bool { return s == Returning || s == RollbackFailed }

// Group is one live group: reserved and not yet settled. Its fields are read through methods; only the ledger
// changes them. A pointer is valid until the group settles or is requeued: the record is then used again.
type Group struct {
	id        int64
	execution uint64
	worker    Session // runs it, or made and holds its data
	handle    Handle
	charged   int64 // announced version at dispatch
	oldest    int64
	newest    int64
	sum       int64
	tokens    int64
	print     uint64 // fingerprint of the outcome
	lease     *Lease
	attempt   uint32
	given     uint32 // the highest attempt that was given in this life: above attempt when an older one was adopted
	samples   int32
	state     State
	failures  uint8 // data attempts used up before this one
	requeues  uint8 // times it went back because it was too stale
	losses    uint8 // executions in a row that were lost with their worker or to their deadline before this one

	// Arrival, Order, Shelf, Holder and Keeper are the caller's: places in the orders that it keeps, and who else has the data. The
	// ledger never reads them and clears them when the record ends.
	Arrival uint64
	Order   Links[Group]
	Shelf   Links[Group]
	Holder  Links[Group]
	Keeper  Session
}

// Links are the neighbours of an element in a list kept by the caller.
type Links[T any] struct{ Prev, Next *T }

// ID is the group's place in the endless source order.
func (g *Group) ID() int64 { return g.id }

// State is where the group is in its life.
func (g *Group) State() State { return g.state }

// Worker runs the group or, from TERMINAL on, holds its data.
func (g *Group) Worker() Session { return g.worker }

// Handle is where the data is, from TERMINAL on.
func (g *Group) Handle() Handle { return g.handle }

// Samples is the number of samples: the group size until TERMINAL, then that of the data.
func (g *Group) Samples() int32 { return g.samples }

// Tokens is the number of tokens, from TERMINAL on.
func (g *Group) Tokens() int64 { return g.tokens }

// Versions returns the oldest and newest version used and the tie-break sum, from TERMINAL on.
func (g *Group) Versions() (oldest, newest, sum int64) { return g.oldest, g.newest, g.sum }

// Charged is the version that was announced at dispatch.
func (g *Group) Charged() int64 { return g.charged }

// Requeues is how often the group went back to the source because it was too stale, in this life; at most 255.
func (g *Group) Requeues() int { return int(g.requeues) }

// Lease is the lease that owns the group, nil unless LEASED.
func (g *Group) Lease() *Lease { return g.lease }

// Receipt is the group's execution receipt, from EXECUTING on.
func (l *Ledger) Receipt(g *Group) Receipt {
	return Receipt{Timeline: l.timeline, Group: g.id, Attempt: g.attempt, Execution: g.execution, Worker: g.worker}
}

// move changes a group's state and the counts that follow from it. An illegal change is a bug of this package:
// the exported methods refuse before they get here.
func (l *Ledger) move(g *Group, to State) {
	if legal[g.state]&(1<<to) == 0 {
		panic(fmt.Sprintf("leases: group %d cannot become %s from %s", g.id, to, g.state))
	}
	if g.state != Free {
		l.counts[g.state]--
	}
	switch {
	case g.state == Completed:
		l.finished.add(g.oldest, -1)
	case g.state == Executing && to != Terminal, g.state == Terminal:
		l.unfinished.add(g.charged, -1)
	}
	g.state = to
	if to < Acknowledged {
		l.counts[to]++
	}
}

// Tally counts the group, its samples and, from TERMINAL on, its tokens.
func (g *Group) Tally() Tally { return Tally{Groups: 1, Samples: int64(g.samples), Tokens: g.tokens} }
