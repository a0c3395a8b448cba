package scheduler

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outrider/leases"
)

func TestS4_04_TheBufferKnowsItsStalestAndFreshestWhateverIsTakenOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, err := leases.New(leases.Params{Source: leases.Source{Len: 100}, GroupSize: 1}, leases.Term{Number: 1, Session: 1}, nil)
		require.NoError(t, err)
		b, version := newBuffer(), rapid.Int64Range(0, 3)
		var in []*leases.Group // by arrival
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if i := rapid.IntRange(-3, 20).Draw(t, "remove, or push"); i >= 0 && i < len(in) {
				b.remove(in[i])
				in = slices.Delete(in, i, i+1)
			} else {
				g := l.ReserveNext()
				o := leases.Outcome{
					Kind: leases.Success, Slots: []int32{0}, Handle: 1, Digest: [32]byte{1},
					HasVersions: true, MinVersion: version.Draw(t, "oldest"), MaxVersion: 6,
				}
				o.SumVersions = o.MinVersion + version.Draw(t, "more")
				fin, err := l.Finish(l.Dispatch(g, 7), &o, leases.Rules{MaxAttempts: 1, Newest: 6})
				require.NoError(t, err)
				require.Equal(t, leases.Terminal, fin.State)
				g.Arrival = uint64(step) + 1
				b.push(g)
				in = append(in, g)
			}
			require.NoError(t, b.verify())
			if len(in) == 0 {
				require.Nil(t, b.stalest())
				continue
			}
			require.Same(t, slices.MinFunc(in, func(a, b *leases.Group) int {
				ao, _, as := a.Versions()
				bo, _, bs := b.Versions()
				return cmp.Or(cmp.Compare(ao, bo), cmp.Compare(as, bs), cmp.Compare(a.Arrival, b.Arrival))
			}), b.stalest())
			require.Same(t, slices.MinFunc(in, func(a, b *leases.Group) int {
				ao, _, _ := a.Versions()
				bo, _, _ := b.Versions()
				return cmp.Or(cmp.Compare(bo, ao), cmp.Compare(a.Arrival, b.Arrival))
			}), b.next(Freshest))
			require.Same(t, in[0], b.next(FIFO))
			require.Same(t, in[len(in)-1], b.next(LIFO))
		}
	})
}
