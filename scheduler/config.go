package scheduler

import (
	"time"

	"outrider/leases"
)

// Submission says when executing capacity is free again.
type Submission uint8

const (
	// BySample frees one place when one sample is done.
	BySample Submission = iota
	// ByGroup frees a group's places when the whole group is terminal.
	ByGroup
)

// Order says which completed groups a take gets.
type Order uint8

const (
	// FIFO gives the oldest completed first. Like every order it trains nothing beyond MaxStaleness, and with Pace nothing gets there.
	// Without MaxStaleness it has no bound: a group that runs for long may finish any number of versions later.
	FIFO Order = iota
	// LIFO gives the newest completed first. Without MaxStaleness it has no bound: the oldest may stay for ever.
	LIFO
	// Windowed gives the first dispatched first. A group that was dispatched later may pass one that is not finished, as long as
	// fewer than Policy.Window were dispatched from the one to the other. Without MaxStaleness it is trained at most ceil((Window−1)/P)
	// versions later than in order of dispatch, P being the groups of a version; choose.go says why.
	Windowed
	// Freshest gives the highest oldest version first, ties in order of completion. Without MaxStaleness it has no bound, as LIFO.
	Freshest
)

// Stale says what becomes of a group beyond the staleness bound.
type Stale uint8

const (
	// StaleRequeue returns the pristine rows to the source.
	StaleRequeue Stale = iota
	// StaleDrop settles the group as discarded, reason "stale".
	StaleDrop
)

// Full says what happens to a finished group when the buffer is full.
type Full uint8

const (
	// FullBlock keeps it TERMINAL until a place is free.
	FullBlock Full = iota
	// FullEvict requeues the stalest buffered group to make room.
	FullEvict
)

// Last says what becomes of the groups at the end of a finite source that do not fill a batch.
type Last uint8

const (
	// LastShort gives them as a smaller lease, marked Short.
	LastShort Last = iota
	// LastDrop settles them as discarded, reason "last_batch".
	LastDrop
	// LastNextEpoch fills their batch with the first groups of the epoch that would follow: one epoch more at most.
	LastNextEpoch
)

// NoBound switches the staleness filter off.
const NoBound int64 = -1

// Limits are the four bounds. 0 means: derive it (New documents the formulas). Negative is refused.
type Limits struct {
	// Executing bounds EXECUTING samples that are not reported done.
	Executing int64
	// Retained bounds groups between their reservation and their settlement.
	Retained int64
	// Completed bounds COMPLETED and LEASED groups.
	Completed int64
	// Bytes bounds the bytes written or promised on each host; 0 is no bound.
	Bytes int64
}

// Policy is what the user chooses.
type Policy struct {
	Submission Submission
	Order      Order
	// MaxStaleness is the largest allowed difference between the announced version and the oldest version used
	// anywhere in a group; NoBound for none. 0 is strict on-policy.
	MaxStaleness int64
	// Pace keeps the bound without discarding: no more is dispatched than can be trained within it, and a batch waits for the
	// groups that would be too old in the next version.
	Pace bool
	// BatchesPerUpdate is how many batches make one weight version: what Pace reckons with. 0 means 1.
	BatchesPerUpdate int
	// Window is that of the order Windowed, in groups; 0 means BatchGroups.
	Window int64
	Stale  Stale
	Full   Full
	Last   Last
	// MaxAttempts is how many data attempts a group has before it is parked as failed; 0 means 3.
	MaxAttempts int
	// MaxRequeues is how often a group that ends too stale is simply generated again, with StaleRequeue; 0 means 3. After that
	// it goes out before all others when the next version is announced, or when the source has nothing else; if it ends too
	// stale even then, it is settled as discarded, reason "stale". The bound has no exemption.
	MaxRequeues int
	// MaxFailed ends the run when that many groups have failed; 0 means 1 % of the source, at least 1.
	MaxFailed int64
	// WaitCommit lets a commit wait while the lease of a lower rollout is open, instead of refusing it.
	WaitCommit bool
	// RefuseRewind refuses a trainer whose weights are older than the last commit, instead of rewinding.
	RefuseRewind bool
}

// waits reports whether a batch can wait for one group while others are complete.
func (p Policy) waits() bool { return p.Order == Windowed || p.Pace }

// Config is all that a life of the owner starts with.
type Config struct {
	Source leases.Source
	// GroupSize is the number of parent slots (samples) of one prompt group, at least 1.
	GroupSize int
	// BatchGroups is the number of groups in one lease, at least 1. With BatchSamples or BatchTokens it is the most that one may have;
	// with BatchSamples 0 means as many as it can take.
	BatchGroups int
	// BatchSamples and BatchTokens give the size of a lease in samples or in tokens: it has as few groups as reach it. 0 for none; at
	// most one of the two.
	BatchSamples, BatchTokens int64
	// Waiting bounds the groups of a stream that were pushed and have not settled; 0 means 1024.
	Waiting int64
	// Prefetch is how many leases may be open beside the one that trains; 0 means 1, negative means none.
	Prefetch int
	Limits   Limits
	Policy   Policy
	Times    Times
	// Stages are the names of what every group goes through, in order, between its generation and its place in the buffer.
	Stages []string
	// Unowned is ownership="none": a take is final, nothing is leased, replayed after a loss, or rewound.
	Unowned bool
	// Owner is the session of this life of the owner: random, never 0.
	Owner leases.Session
	// State is the base of a first life (what State gave); nil starts fresh. A later life uses it as one more
	// witness of the base.
	State []byte
	// Recover marks a later life: nothing is granted until base and log are learned from the members.
	Recover bool
	// JoinWindow is how long a later life waits, from its first Advance, for inventories to adopt before it
	// replays what nobody brought; 0 means 5 s.
	JoinWindow time.Duration
	// CloseGrace bounds how long Close and the end of a failed run wait for cancelled executions; 0 means 10 s.
	CloseGrace time.Duration
	// Verify recounts everything after every event and panics on a mismatch (OUTRIDER_VERIFY).
	Verify bool
}
