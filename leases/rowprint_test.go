package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func rowPrint(content int64) RowPrint {
	return RowPrint{Schema: [16]byte{1}, Content: [16]byte{byte(content), byte(content >> 8), byte(content >> 16), 1}}
}

// However many rows a keyed source has, what is remembered of them stays bounded: the newest.
func TestS1_22_RowsAreRememberedInBounds(t *testing.T) {
	t.Parallel()
	var p rowPrints
	for row := range int64(2*maxRowPrints + 3) {
		require.NoError(t, p.check(row, row, rowPrint(row)))
	}
	require.Len(t, p.byRow, maxRowPrints)
	require.Len(t, p.ring, maxRowPrints)
	last := int64(2*maxRowPrints + 2)
	require.NoError(t, p.check(last, last, rowPrint(last)))
	require.ErrorIs(t, p.check(last, last, rowPrint(last+1)), ErrData)
	require.ErrorIs(t, p.check(last-maxRowPrints+1, last-maxRowPrints+1, rowPrint(0)), ErrData, "the oldest that is remembered")
	require.NoError(t, p.check(0, 0, rowPrint(5)), "one that is forgotten counts as its first")
	require.NoError(t, p.check(0, 0, rowPrint(5)))
}

// A report that does not say what its worker made cannot be compared, so it is the data's failure.
func TestS1_22_AReportSaysWhatItsWorkerMade(t *testing.T) {
	t.Parallel()
	r := newRun(t, Params{Source: Source{Len: 4, Keyed: true}, GroupSize: 2})
	receipt := r.Dispatch(r.ReserveNext(), worker)
	done, err := r.Finish(receipt, r.outcome(0), Rules{MaxAttempts: 3})
	require.ErrorIs(t, err, ErrData)
	require.ErrorContains(t, err, "a keyed source needs a digest of it")
	require.Equal(t, Requeued, done.State)
	receipt = r.Dispatch(r.ReserveNext(), worker)
	o := r.outcome(0)
	o.Row = rowPrint(0)
	_, err = r.Finish(receipt, o, Rules{MaxAttempts: 3})
	require.NoError(t, err)
	r.ok()
}

// All that differs between a run and its state is said at once.
func TestS7_11_EverythingThatDiffersIsSaid(t *testing.T) {
	t.Parallel()
	p := Params{Source: Source{Len: 4, Shuffle: true, Seed: 1, Identity: [32]byte{1}}, GroupSize: 2}
	r := newRun(t, p)
	state, err := r.State(-1)
	require.NoError(t, err)
	_, err = New(Params{Source: Source{Len: 5, Shuffle: true, Seed: 2, Identity: [32]byte{2}}, GroupSize: 3}, Term{Session: 2}, state)
	require.ErrorIs(t, err, ErrState)
	for _, part := range []string{"content: ", "size: 5 rows, the state was made with 4", "seed: 2", "group_size: 3, the state was made with 2"} {
		require.ErrorContains(t, err, part)
	}
	p.Source.Shuffle = false
	_, err = New(p, Term{Session: 2}, state)
	require.ErrorContains(t, err, "order: shuffle=false, the state was made with true; start with")
	p.Source.Shuffle = true
	_, err = New(p, Term{Session: 2}, state)
	require.NoError(t, err)
}
