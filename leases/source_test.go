package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// S1.09: the order of an epoch is a permutation that depends on nothing but size, seed and epoch.
func TestS1_09_EveryEpochIsAPermutationForEver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Source{
			Len:     rapid.Int64Range(1, 2000).Draw(t, "len"),
			Shuffle: true,
			Seed:    rapid.Uint64().Draw(t, "seed"),
		}
		epoch := rapid.Int64Range(0, 1000).Draw(t, "epoch")
		seen := make([]bool, s.Len)
		for position := range s.Len {
			row := s.Row(epoch*s.Len + position)
			require.False(t, seen[row], "row %d comes twice in epoch %d", row, epoch)
			seen[row] = true
		}
	})
}

// Rows written down once: a run that restarts with another build goes on in the same order.
func TestS1_09_TheOrderIsFixed(t *testing.T) {
	t.Parallel()
	s := Source{Len: 10, Shuffle: true, Seed: 7}
	var rows []int64
	for group := range int64(20) {
		rows = append(rows, s.Row(group))
	}
	require.Equal(t, []int64{3, 5, 7, 8, 6, 2, 4, 0, 9, 1, 1, 5, 3, 9, 2, 6, 8, 7, 0, 4}, rows)
	require.NotEqual(t, rows[:10], rows[10:], "epochs have orders of their own")
	other := s
	other.Seed++
	differs := false
	for group := range int64(10) {
		differs = differs || other.Row(group) != s.Row(group)
	}
	require.True(t, differs, "seeds have orders of their own")
}

// Across the boundary and a restart in the middle no row is skipped or repeated.
func TestS1_09_ARestartInTheMiddleSkipsAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	p := Params{Source: Source{Len: 7, Epochs: 2, Shuffle: true, Seed: 3}, GroupSize: 1}
	r := newRun(t, p)
	var trained []int64
	train := func(rollout int64, n int) {
		groups := r.complete(n)
		for _, g := range groups {
			trained = append(trained, p.Source.Row(g.ID()))
		}
		r.commit(r.OpenLease(rollout, trainer, groups, false))
	}
	train(0, 5)
	_, err := r.Reserve(3) // beyond the boundary, lost with this life
	require.NoError(t, err)
	state, err := r.State(0)
	require.NoError(t, err)

	restarted, err := New(p, Term{Number: 1, Session: 2}, state)
	require.NoError(t, err)
	r.Ledger = restarted
	for rollout := int64(1); r.Available(); rollout++ {
		train(rollout, 3)
	}
	require.True(t, r.Exhausted())
	require.ElementsMatch(t, []int64{0, 1, 2, 3, 4, 5, 6}, trained[:7])
	require.ElementsMatch(t, []int64{0, 1, 2, 3, 4, 5, 6}, trained[7:])
}

// The walk along a cycle is short: reading a row of a huge source costs what one of a small source costs.
func TestPermutationOfAHugeSource(t *testing.T) {
	t.Parallel()
	s := Source{Len: 1<<40 + 12345, Shuffle: true, Seed: 1}
	seen := map[int64]bool{}
	for position := range int64(10_000) {
		row := s.Row(position)
		require.True(t, row >= 0 && row < s.Len)
		require.False(t, seen[row])
		seen[row] = true
	}
}

func TestSourceProblems(t *testing.T) {
	t.Parallel()
	require.Empty(t, Source{Len: 1}.Problems())
	require.Contains(t, Source{}.Problems()[0], "give at least 1 row")
	require.Contains(t, Source{Len: 1, Epochs: -1}.Problems()[0], "epochs=-1 is negative")
	require.Contains(t, Source{Len: maxGroups + 1}.Problems()[0], "at most")
}
