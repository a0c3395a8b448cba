package scheduler

import (
	"time"

	"outrider/leases"
)

// Scheduler decides everything that the owner decides. It is not safe for concurrent use: one goroutine feeds
// events in and carries effects out.
type Scheduler struct{}

// New starts one life of the owner. All problems of a configuration come in one error (ErrConfig), problems of
// state bytes as ErrState.
func New(cfg Config) (*Scheduler, error) { panic("unwritten") }

// Advance tells the time (monotonic, from any origin) and fires what is due. The first call must come before any event.
func (s *Scheduler) Advance(now time.Duration) {}

// NextTimer says when Advance is needed next; false when nothing is due.
func (s *Scheduler) NextTimer() (time.Duration, bool) { return 0, false }

// Effects returns what is to be carried out since the last call, in order. The caller owns the slice.
func (s *Scheduler) Effects() []Effect { return nil }

// Term returns this owner's term.
func (s *Scheduler) Term() leases.Term { return leases.Term{} }

// Attach joins a member, or joins it again after a cut: attaching twice is harmless.
// Errors: ErrReplaced (this owner ends), ErrState (weights that no ledger can prove), ErrConflict (ranks disagree),
// ErrCohortChanged (a lower generation), ErrRefused, ErrClosed, ErrConfig.
func (s *Scheduler) Attach(m Member) (Welcome, error) { return Welcome{}, nil }

// Detach says that a session is lost: what it ran or held alone is replayed, its leases before commit roll back,
// its holds are released. Unknown sessions are ignored.
func (s *Scheduler) Detach(session leases.Session, reason string) {}

// Drain gives a worker no new work; its leaving afterwards loses nothing that has settled.
func (s *Scheduler) Drain(session leases.Session) error { return nil }

// Fatal ends the run with err once what is executing has drained (bounded by CloseGrace); waiting takes get err.
func (s *Scheduler) Fatal(err error) {}

// SampleDone says that done of the execution's slots have ended so far (a total, so a repeated message is harmless).
// Errors: ErrStale, ErrRefused (more than the group size).
func (s *Scheduler) SampleDone(r leases.Receipt, done int) error { return nil }

// Terminal ends an execution. The same report again is answered as the first was. An error never says that the
// worker should report again; it has been told by Release that it can free the data.
// Errors: ErrStale, ErrData (counted as a failure of that execution), ErrRefused.
func (s *Scheduler) Terminal(r leases.Receipt, o leases.Outcome) error { return nil }

// Confirm says that an engine serves version. The answer is the timeline in which that counts; the engine's
// sidecar repeats both when it attaches again. digest may be nil.
func (s *Scheduler) Confirm(session leases.Session, version int64, digest []byte) (leases.Timeline, error) {
	return leases.Timeline{}, nil
}

// BytesReleased says that n bytes of data were freed on a host.
func (s *Scheduler) BytesReleased(host string, n int64) {}

// Take waits for a batch for rollout. Answer: Lease. The same session asking again for a rollout whose lease is
// open gets that lease; another session is refused (ErrConflict). A rollout at or below the last committed one is
// refused (ErrConflict). Errors: also ErrEndOfRun, ErrClosed, ErrFailed, ErrRefused.
func (s *Scheduler) Take(t Ticket, session leases.Session, rollout int64) {}

// CancelTake ends a waiting take (Answer: ErrClosed); no group is lost. A ticket that does not wait is ignored.
func (s *Scheduler) CancelTake(t Ticket) {}

// Publish fixes the publication of a lease. Publishing the same again gives the same; publishing something else
// is refused unless the cohort has changed since. Errors: ErrStale, ErrUnknown, ErrRefused, ErrConflict, ErrCohortChanged.
func (s *Scheduler) Publish(admission uint64, p PublishRequest) (Publication, error) {
	return Publication{}, nil
}

// Admit records one rank's admission; repeating it is harmless.
// Errors: ErrStale, ErrUnknown, ErrRefused (other digest, foreign rank), ErrCohortChanged.
func (s *Scheduler) Admit(a AdmitRequest) error { return nil }

// Commit waits until every admitted rank has the entry in its log. Answer: LeaseStatus with LeaseCommitted; also for
// a commit that was answered before. Errors: ErrStale (rolled back or void: take again), ErrUnknown, ErrNotAdmitted,
// ErrCohortChanged, ErrConflict (a lower rollout is open), ErrLost.
func (s *Scheduler) Commit(t Ticket, admission uint64) {}

// Appended says that a trainer's log has the entry with this index.
func (s *Scheduler) Appended(session leases.Session, index uint64) {}

// Rollback returns every group of a lease to the source. The answer is the recorded state of the lease: a committed
// one stays committed. Errors: ErrUnknown, ErrConflict while it is COMMITTING.
func (s *Scheduler) Rollback(admission uint64, reason string) (LeaseStatus, error) {
	return LeaseStatus{}, nil
}

// LeaseStatus answers what became of a lease. Errors: ErrUnknown (older than the retained history, or never given).
func (s *Scheduler) LeaseStatus(admission uint64) (LeaseStatus, error) { return LeaseStatus{}, nil }

// DiscardGroups takes groups out of a lease before it is published and settles them as discarded; the lease gets
// other groups instead. Answer: the Lease, when it is full again (or Short). Errors: ErrStale, ErrUnknown, ErrConflict.
func (s *Scheduler) DiscardGroups(t Ticket, admission uint64, groups []int64, reason string) {}

// Hold keeps new reservations and new leases out until Release or the end of the session. The same session and
// reason get the same hold while it is held. Errors: ErrClosed, ErrRefused.
func (s *Scheduler) Hold(session leases.Session, reason string) (HoldID, error) { return 0, nil }

// Frontier waits until what ran when the hold was taken has ended. Answer: the HoldID. Errors: ErrStale.
func (s *Scheduler) Frontier(t Ticket, h HoldID) {}

// CancelFrontier ends a wait; hold and frontier are unaffected.
func (s *Scheduler) CancelFrontier(t Ticket) {}

// Release ends a hold. An update's hold released without Record is a failed update. Errors: ErrStale (not held).
func (s *Scheduler) Release(h HoldID) error { return nil }

// BeginUpdate takes a hold for new weights and waits for its frontier (mode Drain). Answer: UpdateStart. The same
// session asking again for the same version gets the same hold.
// Errors: ErrConflict (version not above the announced one, or another update stands), ErrClosed.
func (s *Scheduler) BeginUpdate(t Ticket, session leases.Session, version int64, mode Mode) {}

// Rebroadcast is BeginUpdate for the announced version, to unconfirmed engines only. Answer: UpdateStart.
func (s *Scheduler) Rebroadcast(t Ticket, session leases.Session) {}

// UpdateStatus says which engines have confirmed so far. Errors: ErrStale (no such update).
func (s *Scheduler) UpdateStatus(h HoldID) (UpdateReport, error) { return UpdateReport{}, nil }

// Record announces the update's version: the entry goes to the trainers' logs, then the hold ends. digest may be nil.
// Answer: UpdateReport. Errors: ErrStale (no such update, recorded before), ErrConflict (its frontier has not ended),
// ErrRefused (no engine confirmed; the hold stays).
func (s *Scheduler) Record(t Ticket, h HoldID, digest []byte) {}

// Undo goes back from a failed update: the run rewinds to the rollout that the announced version contains and the
// hold becomes one for the announced version, to every engine that is unconfirmed then. Answer: UpdateStart; end it by
// Record or Release. Errors: ErrStale, ErrState (that rollout is below the saved base).
func (s *Scheduler) Undo(t Ticket, h HoldID) {}

// NextRollout is the rollout after the last committed one.
func (s *Scheduler) NextRollout() int64 { return 0 }

// State returns the bytes of the cut at rollout R. Errors: ErrConflict (a lease of a rollout <= R is open; R is not
// committed), ErrState (R is below the saved base).
func (s *Scheduler) State(r int64) ([]byte, error) { return nil, nil }

// Saved says that the state of R is durable in a checkpoint: the base moves to R. Errors: ErrConflict (R never given).
func (s *Scheduler) Saved(r int64) error { return nil }

// Rewind goes back to the weights of rollout R. Answer: RewindReport. Errors: ErrState (below the saved base, above
// the last commit), ErrConflict (a commit is being replicated), ErrRefused (by policy or ownership).
func (s *Scheduler) Rewind(t Ticket, r int64) {}

// Stats returns the present numbers.
func (s *Scheduler) Stats() Stats { return Stats{} }

// Close ends the run: new work stops, cancels go out, terminals are awaited (bounded), the rest is requeued.
// Answer: CloseReport, then Ended. Errors: ErrConflict (leases are open and force is not set; lists them).
func (s *Scheduler) Close(t Ticket, force bool) {}

// Verify recounts everything from the ledger and reports the first difference.
func (s *Scheduler) Verify() error { return nil }
