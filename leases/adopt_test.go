package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two lives of the owner that never met may have the same term, and then they give the same numbers.
func TestS12_15_ANumberOfALifeThatNeverMetThisOneIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	p := Params{Source: Source{Len: 100}, GroupSize: 1}
	first, err := New(p, Term{Number: 1, Session: 1}, nil)
	require.NoError(t, err)
	theirs := func(l *Ledger) Receipt { return l.Dispatch(l.ReserveNext(), 7) }
	early, late := theirs(first), theirs(first)
	state, err := first.State(-1)
	require.NoError(t, err)

	second, err := New(p, Term{Number: 1, Session: 2}, state)
	require.NoError(t, err)
	second.ReserveNext() // group 0 is not free for the early one, whatever its number
	second.Dispatch(second.Find(0), 8)

	_, err = second.Adopt(early, 0, 0)
	require.ErrorIs(t, err, ErrStale, "its number was given here, to another execution")
	adopted, adoptErr := second.Adopt(late, 0, 0)
	for range 3 {
		r := second.Dispatch(second.ReserveNext(), 8)
		require.NotEqual(t, late.Execution, r.Execution, "whether it was adopted or not (%v, %v)", adopted, adoptErr)
	}
	require.NoError(t, second.Verify())
}

// An execution that its worker brings back goes on as the attempt that it is; those that were given meanwhile are not given again.
func TestS1_07_AnAttemptIsGivenOnceWhateverIsAdopted(t *testing.T) {
	t.Parallel()
	l, err := New(Params{Source: Source{Len: 1}, GroupSize: 1}, Term{Number: 1, Session: 1}, nil)
	require.NoError(t, err)
	first := l.Dispatch(l.ReserveNext(), 7)
	l.Interrupt(l.Find(0)) // its worker is cut off
	second := l.Dispatch(l.ReserveNext(), 8)
	l.Interrupt(l.Find(0))
	require.EqualValues(t, 2, second.Attempt)

	g, err := l.Adopt(first, 0, 0)
	require.NoError(t, err)
	require.Equal(t, first, l.Receipt(g))
	l.Abandon(g)
	require.EqualValues(t, 3, l.Dispatch(l.ReserveNext(), 9).Attempt)
	require.NoError(t, l.Verify())
}
