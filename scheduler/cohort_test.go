package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// A trainer comes back with older weights and the owner dies at any moment of telling it the run's account: no part
// of what its sidecar has got by then may speak for weights that it does not hold.
func TestS10_02_OwnerDiesWhileATrainerIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	for rollout := range int64(4) {
		r.train(3, rollout)
	}
	r.s.Detach(3, "killed")
	r.run()
	r.seen = nil
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: 1}, nil))
	require.EqualValues(t, 2, r.next())
	var told []Effect
	for _, e := range r.seen {
		switch e.(type) {
		case SetBase, Append:
			told = append(told, e)
		}
	}
	require.NotEmpty(t, told)
	for n := range len(told) + 1 {
		t.Run(fmt.Sprintf("after %d messages", n), func(t *testing.T) {
			t.Parallel()
			k := &kept{}
			for _, e := range told[:n] {
				k.take(e)
			}
			later := newRig(t, 10, true)
			err := later.trainer(4, TrainerRole{StateAt: 1}, k)
			if n == 0 {
				require.ErrorIs(t, err, leases.ErrState, "nobody has the base")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 2, later.next(), "rollouts 2 and 3 are not in its weights")
		})
	}
}

// The run goes back while a trainer is cut off. What its weights contain was undone, so it cannot go on with them.
func TestS12_02_TrainerThatMissedARewindCannotGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	for rollout := range int64(3) {
		r.train(3, rollout)
	}
	r.s.Detach(3, "cut off")
	r.run()
	require.NoError(t, r.ask(func(t Ticket) { r.s.Rewind(t, 0) }).Err)
	require.ErrorIs(t, r.trainer(3, TrainerRole{StateAt: 2}, r.logs[3]), leases.ErrState)
	require.EqualValues(t, 1, r.next())
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: 0}, nil), "one from the checkpoint can")
}

// The sidecar of a rank dies while the commit is on its way; its shim's copy of the log has the entry.
func TestS5_05_LogCopyWithTheEntryCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	r.train(3, 0)
	lease := r.admitted(3, 1)
	r.ticket++
	waits := r.ticket
	r.s.Commit(waits, lease.Admission)
	k := r.logs[3]
	for _, e := range r.s.Effects() {
		k.take(e) // got it, and died before it could say so
	}
	r.s.Detach(3, "sidecar killed")
	r.run()
	require.NotContains(t, r.answers, waits, "in doubt: the rank may be slow to come back")
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: 0}, k))
	require.NoError(t, r.answers[waits].Err)
	require.EqualValues(t, 2, r.next(), "committed, and not undone by the state_at of a process that was not answered yet")
}

// As before, but the rank's process is gone too.
func TestS5_05_NoLogHasTheEntrySoItIsVoid(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	r.train(3, 0)
	lease := r.admitted(3, 1)
	r.logs[3].mute = true
	waits := r.send(func(t Ticket) { r.s.Commit(t, lease.Admission) })
	r.s.Detach(3, "killed")
	r.run()
	require.NotContains(t, r.answers, waits)
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: 0}, nil))
	require.ErrorIs(t, r.answers[waits].Err, leases.ErrStale)
	require.EqualValues(t, 1, r.next())
	status, err := r.s.LeaseStatus(lease.Admission)
	require.NoError(t, err)
	require.Equal(t, LeaseRolledBack, status.State)
}

// saved() moves the base; a trainer that joined later has a younger one, and must not get back to the older.
func TestS7_08_SavedLeavesYoungerBasesAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	for rollout := range int64(3) {
		r.train(3, rollout)
	}
	r.s.Detach(3, "killed")
	r.run()
	_, err := r.s.State(0)
	require.NoError(t, err)
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: 2}, nil))
	require.NoError(t, r.s.Saved(0))
	r.run()
	r.train(4, 3)
	later := newRig(t, 10, true)
	require.NoError(t, later.trainer(4, TrainerRole{StateAt: 3}, r.logs[4]))
	require.EqualValues(t, 4, later.next())
	require.NoError(t, later.s.Verify())
}

// A role that was refused does not belong to the cohort: nobody waits for it.
func TestS12_04_RefusedRoleLeavesTheCohortAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	r.train(3, 0)
	require.ErrorIs(t, r.trainer(5, TrainerRole{Role: "critic", WorldSize: 1, StateAt: 7}, nil), leases.ErrState)
	require.ErrorIs(t, r.trainer(5, TrainerRole{Role: "critic", WorldSize: 1, StateAt: -1}, nil), leases.ErrConflict, "rank 0 of the actor holds rollout 0")
	r.s.Detach(3, "killed")
	r.run()
	require.NoError(t, r.trainer(4, TrainerRole{StateAt: -1}, nil))
	require.EqualValues(t, 0, r.next(), "the actor alone is the cohort, so its return decides")
}

// A rank of an incomplete cohort cannot admit: what its weights contain is not weighed yet.
func TestS6_07_RankOfAnIncompleteCohortCannotAdmit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{Role: "actor", WorldSize: 2, StateAt: -1}, nil))
	err := r.s.Admit(AdmitRequest{Role: "actor", Session: 3})
	require.ErrorIs(t, err, leases.ErrNotAdmitted)
	require.Nil(t, r.logs[3].base, "and its sidecar keeps no log yet")
}

// A consumer asks a new owner for a rollout that, as the base shows, is committed.
func TestS10_03_TakeOfACommittedRolloutIsRefusedOnceTheBaseIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	r.train(3, 0)
	later := newRig(t, 10, true).workers()
	waits := later.send(func(t Ticket) { later.s.Take(t, rigDriver, 0) })
	require.NotContains(t, later.answers, waits)
	require.NoError(t, later.trainer(3, TrainerRole{StateAt: 0}, r.logs[3]))
	require.ErrorIs(t, later.answers[waits].Err, leases.ErrConflict)
}

// The data of a leased group that every rank has admitted may go with its worker; the worker's return under the same
// session finds its lists in order.
func TestS5_08_WorkerReturnsWhileItsAdmittedDataIsLeased(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	require.NoError(t, r.trainer(3, TrainerRole{StateAt: -1}, nil))
	r.finishOne() // what is leased
	lease := r.admitted(3, 0)
	r.s.Detach(rigWorker, "cut off") // the second group, finished by admitted, goes back to the source
	r.grants = nil
	_, err := r.s.Attach(Member{Session: rigWorker, Worker: &WorkerRole{Slots: 4}})
	require.NoError(t, err)
	r.run()
	r.finishOne()
	require.NoError(t, r.ask(func(t Ticket) { r.s.Commit(t, lease.Admission) }).Err)
	for rollout := int64(1); rollout < 6; rollout++ {
		r.train(3, rollout)
	}
}
