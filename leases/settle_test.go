package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func settleRun(t *testing.T, rows int64) *run {
	t.Helper()
	return newRun(t, Params{Source: Source{Len: rows, Epochs: 1}, GroupSize: 2})
}

func (r *run) receipts(groups []*Group) []Receipt {
	out := make([]Receipt, len(groups))
	for i, g := range groups {
		out[i] = r.Receipt(g)
	}
	return out
}

func TestS1_03_ReserveNothingNegativeAndMoreThanThereIs(t *testing.T) {
	t.Parallel()
	r := settleRun(t, 3)

	none, err := r.Reserve(0)
	require.NoError(t, err)
	require.Empty(t, none)

	_, err = r.Reserve(-1)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "cannot reserve -1 groups; ask for 0 or more")
	require.Zero(t, r.Cursor(), "a refused reservation moves nothing")
	require.Zero(t, r.Live())

	all, err := r.Reserve(10)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.False(t, r.Available())
	require.False(t, r.Exhausted(), "three groups have not settled")
	r.ok()
}

func TestS1_05_TheFirstSettlementOfAReservationWins(t *testing.T) {
	t.Parallel()
	r := settleRun(t, 4)
	receipts := r.receipts(r.complete(2))
	first, second := receipts[0], receipts[1]

	require.NoError(t, r.Discard("zero_std", first))
	books := r.Books()
	require.NoError(t, r.Discard("zero_std", first), "the same request again is answered as recorded")
	require.Equal(t, books, r.Books(), "nothing happens twice")
	require.ErrorIs(t, r.Requeue(first), ErrStale)

	require.NoError(t, r.Discard("zero_std", second, second), "twice in one batch counts once")
	require.EqualValues(t, 2, r.Books().Discarded[0].Tally.Groups)
	r.ok()
}

func TestS1_06_OneStaleReceiptRefusesTheWholeBatch(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*run, ...Receipt) error{
		"requeue": func(r *run, receipts ...Receipt) error { return r.Requeue(receipts...) },
		"discard": func(r *run, receipts ...Receipt) error { return r.Discard("zero_std", receipts...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := settleRun(t, 4)
			receipts := r.receipts(r.complete(3))
			receipts[2].Attempt++
			books := r.Books()

			require.ErrorIs(t, settle(r, receipts...), ErrStale)
			require.Equal(t, books, r.Books(), "the valid ones stay outstanding")
			require.EqualValues(t, 3, r.Count(Completed))

			require.NoError(t, settle(r, receipts[:2]...))
			require.EqualValues(t, 1, r.Count(Completed))
			r.ok()
		})
	}
}

func TestS2_16_AnExecutionReceiptSettlesNothing(t *testing.T) {
	t.Parallel()
	r := settleRun(t, 4)
	groups, err := r.Reserve(1)
	require.NoError(t, err)
	receipt := r.Dispatch(groups[0], worker)

	require.ErrorIs(t, r.Discard("zero_std", receipt), ErrRefused)
	require.ErrorIs(t, r.Requeue(receipt), ErrRefused)
	require.EqualValues(t, 1, r.Count(Executing))
	r.ok()
}
