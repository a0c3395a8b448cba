package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outrider/leases"
)

func TestHeapHasTheFirstOnTopWhateverIsTakenOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := groupHeap{
			before: func(a, b *leases.Group) bool { return a.Arrival < b.Arrival },
			at:     func(g *leases.Group) *int32 { return &g.Index },
		}
		var in []*leases.Group
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if i := rapid.IntRange(-3, 20).Draw(t, "remove, or push"); i >= 0 && i < len(in) {
				h.remove(in[i])
				in = append(in[:i], in[i+1:]...)
			} else {
				g := &leases.Group{Arrival: rapid.Uint64().Draw(t, "arrival")}
				h.push(g)
				in = append(in, g)
			}
			require.Len(t, h.groups, len(in))
			for _, g := range in {
				require.GreaterOrEqual(t, g.Arrival, h.top().Arrival)
				require.Same(t, g, h.groups[g.Index])
			}
		}
	})
}
