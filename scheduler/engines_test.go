package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// Engines elsewhere come and go under names of their own: of those that nobody serves or uses, and that run nothing, nothing is kept.
func TestS10_10_NamesOfEnginesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	for i := range 3 {
		name := fmt.Sprintf("pool %d", i)
		for _, in := range []Member{{Engine: &EngineRole{Name: name}}, {Worker: &WorkerRole{Uses: name}}} {
			in.Session = leases.Session(100 + i)
			_, err := r.s.Attach(in)
			require.NoError(t, err)
			require.Len(t, r.s.pools, 1)
			r.s.Leave(in.Session)
			r.run()
			require.Empty(t, r.s.pools)
		}
	}
}
