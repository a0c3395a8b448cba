// Package scheduler decides everything that the owner of a run decides: what is reserved, which worker runs it, what a batch is
// made of, what may be committed, when weights may change, and what follows when somebody is lost.
//
// # Events in, effects out
//
//	Attach, Terminal, Take, Commit, Hold, Detach, Advance(time), …
//	                          │
//	             ┌────────────▼────────────┐        calls        ┌──────────────────┐
//	             │ Scheduler               │────────────────────▶│ leases.Ledger    │
//	             │  members, bounds, buffer│◀────────────────────│  states, log     │
//	             └────────────┬────────────┘  changed or refused └──────────────────┘
//	                          ▼
//	Grant, Cancel, Append, Release, Answer, Log, …  ([Scheduler.Effects])
//
// There is no goroutine, clock, randomness or I/O here. [Scheduler.Advance] brings the time; what takes time outside (a log that is
// written elsewhere, an engine that loads weights) is an [Effect] whose end comes back as an event, with a state of its own in
// between. A call that waits has a [Ticket] and is answered exactly once by an [Answer]. So a run is a list of lines: package script
// plays stories, package simulate draws runs by the thousand, and the sidecar's owner loop is the third caller.
//
// # Four bounds
//
//	bound      unit                  counts                                         reopens when
//	executing  samples               samples of EXECUTING groups not said done      a sample is done (submission sample), or its group is terminal
//	retained   groups                every group from RESERVED to its settlement    it settles
//	completed  groups                COMPLETED and LEASED                           it settles
//	bytes      bytes of one host     data written or promised there                 it is freed
//
// Each reopens at its own transition and at no other. With completed full, finished groups wait as TERMINAL, or the policy evicts;
// with bytes full, producers wait in turn, and only the group that a waiting take cannot do without may overdraw. What readers keep
// for longer is reported ([Scheduler.Mapped]) and in no bound. Samples of a worker that does not confirm an end stay charged to it,
// wherever their group has gone. [Limits] that are not given are derived.
//
// # Who may run what
//
// A worker gets work while its engine has confirmed the announced weights, its slots are free and no hold is taken. [Scheduler.Hold]
// keeps new reservations and leases out from that event on; its frontier is what ran at that moment. A weight update is a hold, the
// sending in the caller's own time, and a version that is recorded only when every trainer's log has it.
//
// # After a loss
//
// A worker that is lost gives its executions back to the source, a lease whose holder is lost is rolled back, a lost rank leaves the
// commit in doubt until logs have decided. A later life of the owner grants nothing before it knows base and log from the trainers;
// then it takes inventories for a join window, adopts what their receipts prove, and replays the rest. Two lives never both commit:
// each commit needs every rank, and each rank refuses lower terms.
//
// # Rules of this package
//
// A refusal changes nothing and says what was asked, what is the case and what to do; the errors are those of package leases. After
// any event [Scheduler.Verify] can recount every counter from the ledger; with OUTRIDER_VERIFY=all the owner does it each time. No
// state may exist in which everybody waits for somebody who waits for them: the simulation looks for one under every policy.
package scheduler
