package leases

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLiveGroupsAreFoundWhereverTheirIDsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s liveSet
		model := map[int64]*Group{}
		id := rapid.OneOf(rapid.Int64Range(0, 3*livePage), rapid.Int64Range(maxGroups-livePage, maxGroups))
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			at := id.Draw(t, "id")
			if g := model[at]; g != nil {
				s.remove(g)
				delete(model, at)
			} else {
				model[at] = &Group{id: at}
				s.add(model[at])
			}
			require.Same(t, model[at], s.find(at))
		}
		var want []*Group
		pages := map[int64]bool{}
		for _, at := range slices.Sorted(maps.Keys(model)) {
			want = append(want, model[at])
			pages[at/livePage] = true
		}
		require.Equal(t, len(want), s.n)
		require.Len(t, s.pages, len(pages), "an empty page is let go")
		require.True(t, slices.Equal(want, s.all()))
		require.Nil(t, s.find(-1))
	})
}
