package leases

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var pullParams = Params{Source: PulledSource([32]byte{6}), GroupSize: 2}

func givenOf(key uint64, group int64) Given {
	return Given{
		Key: key, Group: group, Of: []int64{group, group}, Parents: []int64{2 * group, 2*group + 1},
		Digest: [16]byte{byte(group), 1}, Rows: fmt.Appendf(nil, "row %d", group),
	}
}

// givenRun has trained a rollout, has a group with wrong parents that failed, and others that have not settled.
func givenRun(t testing.TB) *run {
	t.Helper()
	r := newRun(t, pullParams)
	wrong := givenOf(1, 10)
	wrong.Parents = wrong.Parents[:1]
	r.Take([]Given{wrong, givenOf(2, 11), givenOf(3, 12)}, []byte("at 13"))
	r.Refuse(r.ReserveNext())
	r.commit(r.OpenLease(0, trainer, r.complete(1), false))
	r.Take([]Given{givenOf(4, 13)}, []byte("at 14"))
	r.ok()
	return r
}

func TestS1_19_AnAnswerThatCannotBeTakenIsSaid(t *testing.T) {
	t.Parallel()
	r := givenRun(t)
	changed := givenOf(9, 20)
	for want, given := range map[string][]Given{
		"it gave 1 groups when it was asked for 2":              {givenOf(5, 14)},
		"it gave 3 groups when it was asked for 2":              {givenOf(5, 14), givenOf(6, 15), givenOf(7, 16)},
		"group 14 is in its answer twice":                       {givenOf(5, 14), givenOf(6, 14)},
		"group 13 was given before: the group is back in its":   {givenOf(5, 13), givenOf(6, 14)},
		"group 11 was given before: the group has settled":      {givenOf(5, 14), givenOf(6, 11)},
		"group 1 of 2 in its answer has no identity":            {givenOf(5, 14), givenOf(6, -1)},
		"group 14 has no prompt":                                {{Key: 5, Group: 14}, changed},
		"2 groups of 8388615 bytes; at most 8388608 go at once": {{Key: 5, Group: 14, Rows: make([]byte, maxPush)}, givenOf(6, 100)},
	} {
		require.ErrorIs(t, r.CheckGiven(2, given), ErrSource)
		require.ErrorContains(t, r.CheckGiven(2, given), want)
	}
	require.NoError(t, r.CheckGiven(2, nil))
	require.NoError(t, r.CheckGiven(1, []Given{givenOf(5, 14)}))
}

func TestS1_20_AGroupOnItsWayBackIsOwnedUntilTheSourceHasIt(t *testing.T) {
	t.Parallel()
	r := givenRun(t)
	g := r.ReserveNext()
	receipt := r.Dispatch(g, worker)
	require.Equal(t, 1, r.Interrupt(g))
	require.Equal(t, []Return{{Group: receipt.Group, Key: 3}}, r.Returns())
	require.False(t, r.Rest(receipt.Group))
	for _, state := range []State{RollbackFailed, Returning} {
		_, err := r.Lookup(receipt)
		require.ErrorIs(t, err, ErrStale)
		require.EqualValues(t, 1, r.Live())
		if state == RollbackFailed {
			r.Returned(receipt.Group, false)
			require.Empty(t, r.Returns())
			require.True(t, r.RetryReturns())
		}
	}
	r.ok()
	r.Returned(receipt.Group, true)
	require.EqualValues(t, 0, r.Live())
	require.EqualValues(t, 1, r.Replay())
	r.ok()

	changed := givenOf(8, 12)
	changed.Digest[1]++
	require.ErrorContains(t, r.CheckGiven(1, []Given{changed}), "came back with content")
	r.Take([]Given{givenOf(8, 12)}, []byte("at 14"))
	again := r.ReserveNext()
	require.Equal(t, receipt.Group, again.ID())
	require.EqualValues(t, 2, r.Dispatch(again, worker).Attempt)
	r.ok()
}

// What went back and does not come again is given out from the ledger's own rows, when the source has no more or to another life.
func TestS1_20_WhatASourceForgetsIsNotLost(t *testing.T) {
	t.Parallel()
	r := givenRun(t)
	g := r.ReserveNext()
	r.Dispatch(g, worker)
	r.Abandon(g)
	r.Returned(g.ID(), false)
	r.RetryReturns()
	id := r.Returns()[0].Group
	r.Returned(id, true)
	require.Nil(t, r.Find(id))
	base, _, _ := r.Base()
	later, err := Restore(pullParams, Term{Number: 1, Session: 9}, base, r.Log())
	require.NoError(t, err)
	require.Equal(t, "at 14", string(later.PullCursor()))
	for _, l := range []*Ledger{r.Ledger, later} {
		l.Take(nil, []byte("at 14"))
		require.True(t, l.Drained())
		require.Equal(t, id, l.ReserveNext().ID())
		require.NoError(t, l.Verify())
	}
	// Another life is given what the ledger has: it counts once, and need not be kept.
	require.NoError(t, later.CheckGiven(1, []Given{givenOf(7, 13)}))
	later.Take([]Given{givenOf(7, 13)}, []byte("at 14"))
	require.Equal(t, []uint64{7}, later.LetGoKeys())
	require.EqualValues(t, 4, later.total())
	require.NoError(t, later.Verify())
}

// Until a source has given what it got back of an answer that could not be taken, a later life looks for it from before that.
func TestS1_19_TheCursorStaysBehindWhatIsOwed(t *testing.T) {
	t.Parallel()
	r := newRun(t, pullParams)
	r.Take([]Given{givenOf(1, 0)}, []byte("at 1"))
	r.Owe([]Given{givenOf(2, 1), givenOf(3, 2)})
	r.Take([]Given{givenOf(4, 1)}, []byte("at 3"))
	require.Equal(t, "at 1", string(r.PullCursor()))
	r.Take([]Given{givenOf(5, 2)}, []byte("at 3"))
	require.Equal(t, "at 3", string(r.PullCursor()))
}

// A sample is of one group: the second group of an answer that has it is failed data, and says whose it is.
func TestS1_19_ASampleIsOfOneGroup(t *testing.T) {
	t.Parallel()
	r := newRun(t, pullParams)
	second := givenOf(2, 1)
	second.Parents[1] = 0
	r.Take([]Given{givenOf(1, 0), second}, []byte("at 2"))
	require.Empty(t, r.Wrong(r.ReserveNext()))
	require.Contains(t, r.Wrong(r.ReserveNext()), "group 1 of the source has sample 0 of group 0")
}

// The source's process keeps what it gave for as long as that may go back, and no longer.
func TestS1_20_GivingsAreLetGoWithTheirSettledGroups(t *testing.T) {
	t.Parallel()
	r := givenRun(t)
	require.Empty(t, r.LetGoKeys())
	_, err := r.State(0)
	require.NoError(t, err)
	require.NoError(t, r.Saved(0))
	require.Equal(t, []uint64{1, 2}, r.LetGoKeys(), "the groups 10 and 11 have settled, 12 and 13 have not")
	require.Empty(t, r.LetGoKeys())
}
