package leases

import "fmt"

// Session names one attached member: a role of one process, for one life of that process. Its sidecar chooses
// it at random and keeps it across lives of the owner. 0 is nobody.
type Session uint64

func (s Session) String() string { return fmt.Sprintf("s%x", uint64(s)) }

// Term names one life of the owner. Two terms are ordered by number, then by session, so that two owners that
// never met cannot be equal.
type Term struct {
	Number  uint64
	Session Session
}

// Less reports whether t is an earlier life than u.
func (t Term) Less(u Term) bool {
	if t.Number != u.Number {
		return t.Number < u.Number
	}
	return t.Session < u.Session
}

func (t Term) String() string { return fmt.Sprintf("%d/%s", t.Number, t.Session) }

// Timeline names one stretch of the run between rewinds. Origin is the term in which it began: without it, two
// lives that never met could mean different things by the same number.
type Timeline struct {
	Number uint64
	Origin Term
}

func (t Timeline) String() string { return fmt.Sprintf("%d@%s", t.Number, t.Origin) }

// Handle is where a group's data is. Its meaning belongs to the caller; 0 means that there is no data.
type Handle uint64

// Receipt is the right of one worker to report one execution of one reservation. Together with an Outcome it is
// a terminal receipt.
type Receipt struct {
	Timeline Timeline
	// Group is the group's place in the endless source order: epoch*Source.Len + position. It is never reused.
	Group int64
	// Attempt counts the reservations of this group in this life of the owner since it last settled, from 1. A rewind
	// undoes settlements, so a group that replays may have the attempt of a receipt of an older timeline.
	Attempt uint32
	// Execution is term number<<40 | counter: unique over all lives of the owner.
	Execution uint64
	// Worker is the one session that may report.
	Worker Session
}

func (r Receipt) String() string {
	return fmt.Sprintf("group %d attempt %d execution %d of %s in timeline %s", r.Group, r.Attempt, r.Execution, r.Worker, r.Timeline)
}

// uniqueBits is how many low bits of an execution number or admission id count within one term.
const uniqueBits = 40

func unique(t Term, counter uint64) uint64 { return t.Number<<uniqueBits | counter&(1<<uniqueBits-1) }
