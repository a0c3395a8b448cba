package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// S5.09: what is remembered of settled leases is bounded; an id from before says so.
func TestS5_09_TheHistoryOfLeasesIsBounded(t *testing.T) {
	t.Parallel()
	const settledLeases = 10_000
	r := newRun(t, Params{Source: Source{Len: 4}, GroupSize: 1})
	var admissions []uint64
	for i := range settledLeases {
		lease := r.OpenLease(int64(i), trainer, r.complete(1), false)
		admissions = append(admissions, lease.Admission)
		r.Rollback(lease, "again", nil)
	}
	require.Len(t, r.history.of, keepLeases)
	require.LessOrEqual(t, cap(r.history.order), 4*keepLeases)
	require.LessOrEqual(t, len(r.outcomes.at), keepOutcomes)

	for i, admission := range admissions {
		lease, status, err := r.FindLease(admission)
		require.Nil(t, lease)
		if i < settledLeases-keepLeases {
			require.ErrorIs(t, err, ErrUnknown)
			require.ErrorContains(t, err, "older than the retained history of 1024 leases")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, LeaseStatus{Admission: admission, Rollout: int64(i), State: LeaseRolledBack, Reason: "again"}, status)
	}
}

// The memory of outcomes is a ring: the latest are answered as recorded, older ones are stale.
func TestTheHistoryOfOutcomesIsBounded(t *testing.T) {
	t.Parallel()
	r := newRun(t, Params{Source: Source{Len: keepOutcomes + 500, Epochs: 1}, GroupSize: 1})
	var receipts []Receipt
	dropped := &Outcome{Kind: Discard, Reason: "zero_std"}
	for r.Available() {
		receipt := r.Dispatch(r.ReserveNext(), worker)
		receipts = append(receipts, receipt)
		_, err := r.Finish(receipt, dropped, Rules{MaxAttempts: 3})
		require.NoError(t, err)
	}
	require.Len(t, r.outcomes.at, keepOutcomes)
	for i, receipt := range receipts {
		fin, err := r.Finish(receipt, dropped, Rules{MaxAttempts: 3})
		if i < 500 {
			require.ErrorIs(t, err, ErrStale)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, Finished{State: Discarded, Repeated: true}, fin)
		_, err = r.Finish(receipt, &Outcome{Kind: Discard, Reason: "other"}, Rules{MaxAttempts: 3})
		require.ErrorIs(t, err, ErrConflict)
	}
	r.ok()
}

// A log that goes back below its own base cannot be followed: what the base has settled cannot be told apart any more.
func TestS12_02_LogThatGoesBackBelowItsBaseIsRefused(t *testing.T) {
	t.Parallel()
	r := saved(t)
	_, err := r.State(1)
	require.NoError(t, err)
	require.NoError(t, r.Saved(1))
	base, _, _ := r.Base()
	back := &record{kind: recordRewind, rollout: 0, term: Term{Number: 1}, timeline: Timeline{Number: 2}}
	back.index = r.Log()[0].Index
	_, err = Restore(stateParams, Term{Number: 1, Session: 1}, base, []Entry{{Index: back.index, Bytes: back.encode()}})
	require.ErrorIs(t, err, ErrState)
	require.ErrorContains(t, err, "below the base of rollout 1")
}
