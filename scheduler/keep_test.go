package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// A process that has memory beside a worker can finish a group for it, and never fail or discard one: that is the worker's own word.
func TestS10_11_NothingButDataIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	held := Held{Receipt: r.grants[0].Receipt}
	for _, outcome := range []*leases.Outcome{nil, {Kind: leases.Failure, Reason: "length"}, {Kind: leases.Discard, Reason: "length"}, {Kind: leases.Retry}} {
		held.Outcome = outcome
		before := r.s.Stats()
		a := r.ask(func(t Ticket) { r.s.Kept(t, rigDriver, []Held{held}) })
		require.NoError(t, a.Err)
		require.Equal(t, Unkept{held.Receipt}, a.Value)
		require.Equal(t, before, r.s.Stats())
	}
	r.finishOne()
}
