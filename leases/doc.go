// Package leases is the ledger of a run: who owns each prompt group, and what has become of it.
//
// # The life of a group
//
//	          reserve          dispatch            success           a place is free           take             commit
//	source ──────────▶ RESERVED ──────▶ EXECUTING ─────────▶ TERMINAL ───────────────▶ COMPLETED ─────▶ LEASED ───────▶ ACKNOWLEDGED
//	  ▲                   │                 │                   │                          │               │
//	  └──── requeue ◀─────┴─────────────────┴───────────────────┴──────────────────────────┴───────────────┘
//	TERMINAL, COMPLETED, LEASED ── discard ──▶ DISCARDED           EXECUTING ── its data attempts used up ──▶ FAILED
//	ACKNOWLEDGED, DISCARDED, FAILED after rollout R ── rewind to R ──▶ source
//
// Only the become… methods (become.go) write these states. A caller that asks for a change that the picture does not have
// is refused; inside, it is a bug and panics. A requeue gives back the pristine group with its next attempt, and every
// receipt given out before is void from then on.
//
// # What proves what
//
// Nothing is believed by its group id. A worker may end an execution by its [Receipt], which names timeline, group, attempt,
// execution and session; receipt and [Outcome] together are a terminal receipt, the only thing that settles a group or lets
// a later owner adopt its data. A batch is a [Lease], named by its admission id and never by its rollout alone; its
// [Publication] fixes who reads what; a commit needs the admission of every rank of every role of one cohort. Whatever was
// answered once is answered the same again: outcomes and leases are remembered, in bounds (history.go).
//
// # Where truth lives
//
// There is no database. An acknowledgement is worth as much as the weights that justify it, so it is kept beside them: a cut of
// the run at a rollout ([Ledger.State]) goes into the trainer's own checkpoint, and each trainer's sidecar keeps a base (such
// a cut) with the log of entries since. A commit takes two steps, because a log is elsewhere: [Ledger.StartCommit] makes the
// entry, [Ledger.FinishCommit] settles once every admitted rank has it, [Ledger.VoidCommit] when none will. A later life of the owner
// reads base and log again ([Restore]) and has the same ledger, but for what was under way; [Ledger.Adopt] takes work up that is
// proven by its receipt, and the rest replays. docs/state.md has the bytes.
//
// What a trainer's weights contain decides, always: if they contain less than the ledger has acknowledged, [Ledger.Rewind] goes back
// to them. A rewind begins a new timeline; receipts, leases and versions of the older one are void, except for live groups that
// are as old as those weights and are carried over.
//
// # Rules of this package
//
// The ledger is a value: no goroutine, clock, randomness or I/O, and no policy (package scheduler has it all). One call is one
// event: it changes everything that it names, or it returns an error that wraps one of the errors in errors.go and changes
// nothing. Between any two calls every group below the cursor is in exactly one of settled, live, replay and resting, and the [Books]
// close: reserved = acknowledged + discarded + failed + live. [Ledger.Verify] recounts both.
package leases
