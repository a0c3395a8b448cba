package leases

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var streamParams = Params{Source: StreamSource([32]byte{5}), GroupSize: 2}

func pushOf(id string, content byte) Push {
	return Push{ID: NamePush([]byte(id)), Digest: [16]byte{content}, Rows: []byte("row " + id)}
}

// pushedRun has trained two rollouts of a stream and has pushes that have not settled.
func pushedRun(t testing.TB) *run {
	t.Helper()
	r := newRun(t, streamParams)
	r.Push([]Push{pushOf("a", 1), pushOf("b", 1), pushOf("c", 1)})
	r.commit(r.OpenLease(0, trainer, r.complete(2), false))
	r.Push([]Push{pushOf("d", 1), pushOf("e", 1)})
	r.commit(r.OpenLease(1, trainer, r.complete(2), false))
	r.Push([]Push{pushOf("f", 1)})
	_, _, err := r.EndStream()
	require.NoError(t, err)
	r.ok()
	return r
}

// A cut has everything that was pushed: rows of what has not settled at it, ids of the rest; base and log have the same.
func TestS1_12_StateAndLogCarryWhatWasPushed(t *testing.T) {
	t.Parallel()
	r := pushedRun(t)
	for rollout, unsettled := range map[int64][]int64{-1: {0, 1, 2, 3, 4, 5}, 0: {2, 3, 4, 5}, 1: {4, 5}} {
		state, err := r.State(rollout)
		require.NoError(t, err)
		l, err := New(streamParams, Term{Session: 9}, state)
		require.NoError(t, err)
		require.NoError(t, l.Verify())
		again, err := l.State(rollout)
		require.NoError(t, err)
		require.Equal(t, state, again)
		var rows []int64
		for g := l.ReserveNext(); g != nil; g = l.ReserveNext() {
			rows = append(rows, g.ID())
			require.Equal(t, "row "+string(rune('a'+g.ID())), string(l.Pushed(g.ID())))
		}
		require.Equal(t, unsettled, rows, "at rollout %d", rollout)
		require.False(t, l.Flows())
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			fresh, err := l.CheckPush([]Push{pushOf(id, 1)})
			require.NoError(t, err)
			require.Zero(t, fresh)
			_, err = l.CheckPush([]Push{pushOf(id, 2)})
			require.ErrorIs(t, err, ErrConflict)
		}
	}
	base, _, _ := r.Base()
	l, err := Restore(streamParams, Term{Session: 9}, base, r.Log())
	require.NoError(t, err)
	require.Equal(t, r.stream, l.stream)

	// A base that was saved has pushes that its log repeats.
	_, err = r.State(0)
	require.NoError(t, err)
	require.NoError(t, r.Saved(0))
	require.Equal(t, []PushID{NamePush([]byte("a")), NamePush([]byte("b"))}, r.Gone())
	require.Empty(t, r.Gone())
	require.Nil(t, r.Pushed(0))
	require.NotNil(t, r.Pushed(2), "a rewind may bring it back")
	base, _, _ = r.Base()
	l, err = Restore(streamParams, Term{Session: 9}, base, r.Log())
	require.NoError(t, err)
	require.Equal(t, r.stream, l.stream)
}

// Ids of what has settled for good are bounded, in memory and in state bytes; what has not settled is never forgotten.
func TestS1_18_RememberedIdsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRun(t, streamParams)
	r.Push([]Push{pushOf("first", 1)})
	first := r.ReserveNext()
	const more = 300
	pushes := make([]Push, remembered+more)
	for i := range pushes {
		pushes[i] = pushOf(fmt.Sprint(i), 1)
	}
	r.Push(pushes)
	r.commit(r.OpenLease(0, trainer, r.complete(len(pushes)), false))
	state, err := r.State(0)
	require.NoError(t, err)
	require.Less(t, len(state), 600<<10)
	require.NoError(t, r.Saved(0))
	require.Len(t, r.stream.items, remembered+1)
	require.Len(t, r.stream.byID, remembered+1)
	require.Equal(t, len("row first"), r.stream.held)
	for id, fresh := range map[string]int{"first": 0, fmt.Sprint(more - 1): 1, fmt.Sprint(more): 0} {
		n, err := r.CheckPush([]Push{pushOf(id, 1)})
		require.NoError(t, err)
		require.Equal(t, fresh, n, id)
	}
	l, err := New(streamParams, Term{Session: 9}, state)
	require.NoError(t, err)
	require.Equal(t, first.ID(), l.ReserveNext().ID())
	n, err := l.CheckPush([]Push{pushOf(fmt.Sprint(more-1), 1)})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	again, err := l.State(0)
	require.NoError(t, err)
	require.Equal(t, state, again)
}
