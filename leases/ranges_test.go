package leases

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// check fails unless spans are ordered, apart, none empty, chunks within their bound, and count is their sum.
func (r *ranges) check(t require.TestingT) {
	n, last := int64(0), int64(-1)
	for _, ch := range r.chunks {
		require.NotEmpty(t, ch, "a chunk is empty")
		require.LessOrEqual(t, len(ch), chunkSpans)
		for _, s := range ch {
			require.Less(t, s.lo, s.hi, "a span is empty")
			require.Greater(t, s.lo, last, "spans overlap or touch")
			last = s.hi
			n += s.hi - s.lo
		}
	}
	require.Equal(t, n, r.count)
}

func (r *ranges) all() []int64 {
	out := []int64{}
	r.spans(func(lo, hi int64) bool {
		for g := lo; g < hi; g++ {
			out = append(out, g)
		}
		return true
	})
	return out
}

// The reference is a set of groups, one by one.
func TestRangesAreASetOfGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		universe := rapid.SampledFrom([]int64{12, 300, 4000}).Draw(t, "universe")
		reach := rapid.SampledFrom([]int64{1, 3, 100}).Draw(t, "reach")
		steps := int(min(3*universe, 1500))
		r, want := &ranges{}, map[int64]bool{}
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n int64) int64 {
			seed = mix(seed)
			return int64(seed>>1) % n
		}
		for range steps {
			lo := next(universe)
			hi := lo + next(reach+1)
			switch next(5) {
			case 0, 1, 2:
				added := int64(0)
				for g := lo; g < hi; g++ {
					if !want[g] {
						added++
					}
					want[g] = true
				}
				require.Equal(t, added, r.add(lo, hi))
			case 3:
				r.remove(lo, hi)
				for g := lo; g < hi; g++ {
					delete(want, g)
				}
			case 4:
				g, ok := r.popMin()
				require.Equal(t, len(want) > 0, ok)
				for smaller := int64(0); ok && smaller < g; smaller++ {
					require.False(t, want[smaller], "group %d is smaller than %d", smaller, g)
				}
				if ok {
					require.True(t, want[g])
				}
				delete(want, g)
			}
			require.Equal(t, want[lo], r.contains(lo))
		}
		r.check(t)
		have := []int64{}
		for g := range want {
			have = append(have, g)
		}
		slices.Sort(have)
		require.Equal(t, have, r.all())

		gaps := r.gaps(universe)
		gaps.check(t)
		for _, g := range gaps.all() {
			require.False(t, want[g])
		}
		below := int64(0)
		for _, g := range have {
			if g < universe {
				below++
			}
		}
		require.Equal(t, universe, gaps.len()+below)

		copied := r.clone()
		r.add(0, universe)
		require.Equal(t, have, copied.all(), "a clone shares nothing")
	})
}

// Every second group, inwards and outwards, splits chunks; filling the holes joins all of it again.
func TestRangesSplitAndJoinChunks(t *testing.T) {
	t.Parallel()
	r := &ranges{}
	const n = 20 * chunkSpans
	for g := int64(0); g < n; g += 2 {
		r.add(g, g+1)
		r.add(2*n-g, 2*n-g+1)
	}
	r.check(t)
	require.Equal(t, n+1-1, r.spanCount())
	for g := int64(1); g < 2*n; g += 2 {
		r.add(g, g+1)
	}
	r.check(t)
	require.LessOrEqual(t, r.spanCount(), 2)
	r.remove(5, 2*n-5)
	r.check(t)
	require.Equal(t, 2, r.spanCount())
}
