package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommitsFollowTheOrderOfRollouts(t *testing.T) {
	t.Parallel()
	r := newRun(t, Params{Source: Source{Len: 100}, GroupSize: 1})
	groups := r.complete(3)
	first, second := r.OpenLease(3, trainer, groups[:1], false), r.OpenLease(4, trainer, groups[1:2], false)
	p := r.publish(second)
	require.NoError(t, r.Admit(AdmitRequest{Admission: second.Admission, Digest: p.Digest, Role: "actor", Session: trainer}))
	_, _, err := r.StartCommit(second.Admission)
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, "rollout 4 cannot be committed before rollout 3")
	r.commit(first)
	r.commit(second)

	late := r.OpenLease(2, trainer, groups[2:], false)
	p = r.publish(late)
	require.NoError(t, r.Admit(AdmitRequest{Admission: late.Admission, Digest: p.Digest, Role: "actor", Session: trainer}))
	_, _, err = r.StartCommit(late.Admission)
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, "rollout 2 cannot be committed after rollout 4")
	r.ok()
}

// What a void commit would have carried to the logs goes with the next one.
func TestAVoidCommitLosesNoDiscard(t *testing.T) {
	t.Parallel()
	p := Params{Source: Source{Len: 100}, GroupSize: 1}
	r := newRun(t, p)
	groups := r.complete(3)
	require.NoError(t, r.Discard("zero_std", r.Receipt(groups[0])))
	lease := r.OpenLease(0, trainer, groups[1:], false)
	r.start(lease)
	r.VoidCommit(lease, "no log has it")
	r.ok()
	r.commit(r.OpenLease(0, trainer, r.complete(2), false))

	base, _, _ := r.Base()
	restored, err := Restore(p, Term{Number: 1, Session: 2}, base, r.Log())
	require.NoError(t, err)
	require.NoError(t, restored.Verify())
	require.Equal(t, r.Books().Discarded, restored.Books().Discarded)
	require.Equal(t, r.Books().Acknowledged, restored.Books().Acknowledged)
	_, status, err := restored.FindLease(lease.Admission)
	require.NoError(t, err)
	require.Equal(t, LeaseRolledBack, status.State)
}

// A later life takes over what runs on, each group once, and nothing else.
func TestAdoptionTakesOnlyFreeGroupsOfThisTimeline(t *testing.T) {
	t.Parallel()
	p := Params{Source: Source{Len: 100, Epochs: 1}, GroupSize: 1}
	r := newRun(t, p)
	var receipts []Receipt
	groups, err := r.Reserve(4)
	require.NoError(t, err)
	for _, g := range groups {
		receipts = append(receipts, r.Dispatch(g, worker))
	}
	_, err = r.Finish(receipts[0], r.outcome(0), Rules{MaxAttempts: 3})
	require.NoError(t, err)
	r.Complete(groups[0])
	r.commit(r.OpenLease(0, trainer, groups[:1], false))

	base, _, _ := r.Base()
	l, err := Restore(p, Term{Number: 1, Session: 2}, base, r.Log())
	require.NoError(t, err)
	later := &run{Ledger: l, t: t}
	stale := func(receipt Receipt, why string) {
		_, err := later.Adopt(receipt, 0, 0)
		require.ErrorIs(t, err, ErrStale)
		require.ErrorContains(t, err, why)
		later.ok()
	}
	_, err = later.Adopt(receipts[2], 0, 0)
	require.NoError(t, err)
	later.ok()
	stale(receipts[2], "reserved already")
	stale(receipts[0], "has settled")
	other := receipts[1]
	other.Timeline.Origin.Session++
	stale(other, "the run is in timeline")
	other = receipts[1]
	other.Group = 100
	stale(other, "no such group")
	other = receipts[1]
	other.Execution = 2 << uniqueBits
	stale(other, "later term")

	g, err := later.Adopt(receipts[1], 0, 0)
	require.NoError(t, err)
	_, err = later.Finish(receipts[1], later.outcome(1), Rules{MaxAttempts: 3})
	require.NoError(t, err)
	require.NoError(t, later.Requeue(later.Receipt(g)))
	stale(receipts[1], "it has ended")
	require.Equal(t, int64(1), later.ReserveNext().ID(), "what nobody brought or was returned comes first, in group order")
	require.Equal(t, int64(3), later.ReserveNext().ID())
	require.Equal(t, int64(4), later.ReserveNext().ID())
	later.ok()
}

// The timeline rises with every rewind: receipts of before mean nothing.
func TestARewindVoidsReceiptsAndUndoesWhatCameAfter(t *testing.T) {
	t.Parallel()
	r := newRun(t, Params{Source: Source{Len: 100}, GroupSize: 1})
	r.commit(r.OpenLease(0, trainer, r.complete(2), false))
	require.NoError(t, r.FinishVersion(r.StartVersion(1, 0, nil)))
	r.commit(r.OpenLease(1, trainer, r.complete(2), false))
	require.NoError(t, r.FinishVersion(r.StartVersion(2, 1, nil)))
	groups, err := r.Reserve(2)
	require.NoError(t, err)
	running := r.Dispatch(groups[0], worker)
	done, err := r.Rewind(0, nil)
	require.NoError(t, err)
	r.ok()
	require.Equal(t, int64(2), done.Replay)
	version, contains, _, _ := r.Announced()
	require.Equal(t, []int64{1, 0}, []int64{version, contains})
	_, err = r.Lookup(running)
	require.ErrorIs(t, err, ErrStale)
	_, err = r.Adopt(running, 0, 0)
	require.ErrorIs(t, err, ErrStale)
	require.Equal(t, int64(2), r.ReserveNext().ID())
	require.Equal(t, running.Timeline.Number+1, r.Timeline().Number)
}

func TestS6_03_ARankThatIsNotRequiredCannotAdmit(t *testing.T) {
	t.Parallel()
	r := newRun(t, Params{Source: Source{Len: 10}, GroupSize: 2})
	lease := r.OpenLease(0, trainer, r.complete(1), false)
	pub := r.publish(lease)
	for _, rank := range []Rank{{"actor", 1}, {"actor", -1}, {"critic", 0}} {
		err := r.Admit(AdmitRequest{Admission: lease.Admission, Digest: pub.Digest, Role: rank.Role, Rank: rank.Rank, Session: trainer})
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, "is not required by the publication")
	}
	require.Empty(t, lease.Admitted())
	r.ok()
}
