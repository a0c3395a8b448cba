package scheduler

import (
	"time"

	"outrider/leases"
)

// Member is one attaching session with the roles it plays. One session may play several.
type Member struct {
	Session leases.Session
	// Host names the machine; byte bounds are per host.
	Host string
	// Memory is how many bytes the member's processes may use by the limits of its node or container; 0 when nobody says. Half of it
	// is the byte bound of a host that is given none.
	Memory int64
	// Process names the process that the member lives in: its members are lost together, and their data is kept in another one.
	// Empty: it keeps nothing, and nobody keeps what it made.
	Process string
	// Name and Pid are for messages only: the actor, and its process; 0 when nobody says.
	Name string
	Pid  int64
	// KnownTerm is the highest term the member has seen; zero when it has seen none.
	KnownTerm leases.Term
	// LookedUp says that the member dialled this owner as the one the name directory has just given it.
	LookedUp bool
	Worker   *WorkerRole
	Engine   *EngineRole
	Trainer  *TrainerRole
	// Client is a member that only consumes (a driver).
	Client bool
}

// WorkerRole is a member that runs trajectories.
type WorkerRole struct {
	// Slots is how many samples it runs at once; 0 while it asks for no work (SetSlots).
	Slots int
	// Stage is the stage that it serves; empty: it generates. Slots are then the groups that it takes at once, and Engine, Confirmed and
	// Timeline say nothing.
	Stage string
	// Engine says that it holds serving weights itself, so it must confirm versions.
	Engine bool
	// Uses names the engines that its requests go to, when those are members of their own; else empty.
	Uses string
	// Confirmed is the version it confirmed last and Timeline that in which it did (as Confirm answered);
	// a zero timeline means that it never confirmed, which counts as version 0, the initial weights.
	Confirmed int64
	Timeline  leases.Timeline
	// Inventory is what it runs and what it has finished and not yet been told to release.
	Inventory []Held
}

// Held is one entry of a worker's inventory.
type Held struct {
	Receipt leases.Receipt
	// Version is the Assignment's.
	Version int64
	// Done is how many of its slots were reported done.
	Done int
	// Outcome is nil while the execution runs.
	Outcome *leases.Outcome
}

// TrainerRole is one trainer rank.
type TrainerRole struct {
	// Role is for example "actor" or "critic".
	Role       string
	Rank       int
	WorldSize  int
	Generation int64
	// StateAt is the last rollout that its parameters contain, -1 for none. A session that has been attached
	// before says the last rollout whose commit it was answered.
	StateAt int64
	// Base and Log are what SetBase and Append gave it; nil in a process that never had them.
	Base []byte
	Log  []Entry
	// Copied says that Base and Log are the process's own copy of what a lost sidecar kept. They prove the run's account; what the
	// weights contain is StateAt, the process's word: a commit may have reached the log and never the process.
	Copied bool
	// Unsaid says that the run and the weights are not known to be at the same rollout: one of them went back, and the other has
	// not followed (Restored).
	Unsaid bool
	// State is what State gave when its checkpoint was written; nil when it has none.
	State []byte
}

// keeps reports whether its sidecar has base and log, and so knows which commits the process was answered.
func (r *TrainerRole) keeps() bool { return r.Base != nil && !r.Copied }

// Welcome answers an Attach.
type Welcome struct {
	Term leases.Term
	// Timeline is zero while a later life has not learned its base; a NewTimeline effect follows.
	Timeline leases.Timeline
	// Announced is the announced weight version.
	Announced   int64
	NextRollout int64
	GroupSize   int
	BatchGroups int
	Unowned     bool
	// HeldWarning is that of the run's Times: a rank's sidecar counts by it.
	HeldWarning time.Duration
	// Recovering is set while a later life has not learned its base: Timeline, Announced and NextRollout follow by
	// a NewTimeline effect.
	Recovering bool
	// Void lists receipts of the inventory that mean nothing any more: stop them, free their data.
	Void []leases.Receipt
}
