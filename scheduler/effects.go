package scheduler

import "outrider/leases"

// Effect is something for the owner loop to carry out. Effects are to be carried out in order.
type Effect interface{ effect() }

// Ticket is the caller's name for one waiting call. Every waiting call is answered by exactly one Answer.
type Ticket uint64

// Assignment is what a worker needs to run one execution.
type Assignment struct {
	Receipt leases.Receipt
	// Row is the index of the group's prompt in the source, 0..Source.Len-1.
	Row int64
	// Pushed is the prompt itself where it was pushed, else nil.
	Pushed []byte
	// GroupSize samples are to be made; sample i has the index Receipt.Group*GroupSize + i.
	GroupSize int
	// Version is the announced weight version at dispatch.
	Version int64
	// Promise is how many bytes it may write without asking for Credit; NoPromise: any number.
	Promise int64
}

type (
	// Grant gives one execution to one worker. The same receipt may be granted again after a reconnection.
	Grant struct {
		Session    leases.Session
		Assignment Assignment
	}
	// Carried gives a worker, or who keeps its data, other receipts for executions that it runs or holds: the same but for the
	// timeline, and all of one worker. What it reports by the old ones until it has heard of these counts as well.
	Carried struct {
		Session  leases.Session
		Receipts []leases.Receipt
	}
	// StageGrant gives the rows of one finished group to one member of a stage, which ends that by Terminal as a worker does. Receipt is
	// that member's own; Data are the column segments that there are, in order.
	StageGrant struct {
		Session leases.Session
		Receipt leases.Receipt
		Stage   string
		Row     int64
		Data    []Data
	}
	// Cancel asks a worker to end an execution; it still must report Terminal (which may be refused as stale,
	// and then only gives its places back).
	Cancel struct {
		Session leases.Session
		Receipt leases.Receipt
	}
	// Release says that the data of one terminal receipt is not needed any more, and that its holder, and whoever keeps it for the
	// holder, can forget the receipt. It comes once for every handle that a report, an inventory or a keeper's word brought, also
	// when the holder is gone.
	Release struct {
		Holder  leases.Session
		Receipt leases.Receipt
		Handle  leases.Handle
	}
	// KeepBy tells a worker which member is to have the data of what it finishes, and of what it has finished, as well: one of another
	// process of its host. That one says by Kept what it has. 0: there is none.
	KeepBy struct{ Session, Keeper leases.Session }
	// LetGo says that pushed prompts have settled in a saved state: their producers need not keep them.
	LetGo struct{ IDs []leases.PushID }
	// Append gives a log entry to trainers; each answers by Scheduler.Appended.
	Append struct {
		Sessions []leases.Session
		Entry    Entry
		// Decides is the admission that the entry commits when the log of the only rank that admitted decides that
		// alone (see CommitAdmitted), else 0.
		Decides uint64
	}
	// SetBase replaces the base, drops every entry up to and including Index, and takes the entries of Log, all above it,
	// as Append does: in one piece. Each answers by Scheduler.Appended with Last. An Append whose
	// index a log already has replaces that entry and drops all after it.
	SetBase struct {
		Sessions []leases.Session
		R        int64
		Index    uint64
		State    []byte
		Log      []Entry
	}
	// Answer ends a waiting call. Exactly one of Value and Err is set; Value's type is the call's.
	Answer struct {
		Ticket Ticket
		Value  any
		Err    error
	}
	// NewTerm tells all members that this owner raised its term; members refuse lower terms from then on.
	NewTerm struct{ Term leases.Term }
	// NewTimeline tells all members that the run rewound (or that a later life has learned its timeline): receipts of
	// other timelines are void, but for those that a Carried effect names, and Version is what the trainers hold now.
	NewTimeline struct {
		Timeline leases.Timeline
		Version  int64
		// LastRollout is the last committed rollout, -1 for none.
		LastRollout int64
	}
	// Announced tells all members the announced version.
	Announced struct{ Version int64 }
	// Committed tells the ranks that admitted that the batch is theirs to train.
	Committed struct {
		Sessions  []leases.Session
		Admission uint64
		Rollout   int64
	}
	// Revoked tells holder and ranks of a lease that it was rolled back, before any Answer that depends on it.
	Revoked struct {
		Sessions  []leases.Session
		Admission uint64
		Rollout   int64
		Err       error
	}
	// Expel ends a member's session: it was fenced or refused after it attached. It is already detached.
	Expel struct {
		Session leases.Session
		Err     error
	}
	// Drained says that a draining worker has nothing left to run, or to hold that nobody keeps: it can leave and nothing is requeued.
	Drained struct{ Session leases.Session }
	// Log is one event that a person would ask about.
	Log struct {
		Level Level
		Msg   string
		// KV alternates keys (string) and values.
		KV []any
	}
	// Ended says that the run is over; nil after a close. With Answers workers can leave, and the owner goes on: a finite source has
	// settled (ErrEndOfRun; a rewind can bring work back), or the run has failed and is to be closed. Without, no effect follows.
	Ended struct {
		Err     error
		Answers bool
	}
)

// Level is the severity of a Log effect.
type Level uint8

// Levels of Log.
const (
	Info Level = iota
	Warn
	Error
)

func (Grant) effect()       {}
func (StageGrant) effect()  {}
func (Carried) effect()     {}
func (Cancel) effect()      {}
func (Release) effect()     {}
func (KeepBy) effect()      {}
func (LetGo) effect()       {}
func (Append) effect()      {}
func (SetBase) effect()     {}
func (Answer) effect()      {}
func (NewTerm) effect()     {}
func (NewTimeline) effect() {}
func (Announced) effect()   {}
func (Committed) effect()   {}
func (Revoked) effect()     {}
func (Expel) effect()       {}
func (Drained) effect()     {}
func (Log) effect()         {}
func (Ended) effect()       {}

// Last is the index of the last entry that a log has by a SetBase.
func (e SetBase) Last() uint64 {
	if n := len(e.Log); n > 0 {
		return e.Log[n-1].Index
	}
	return e.Index
}
