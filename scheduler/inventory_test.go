package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

func TestS10_03_AnInventoryThatGivesOneNumberToTwoGroupsCountsForOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9, false).workers()
	k := &kept{}
	require.NoError(t, r.trainer(3, TrainerRole{WorldSize: 1, StateAt: -1}, k))
	r.run()
	require.GreaterOrEqual(t, len(r.grants), 2)
	first, second := r.grants[0].Receipt, r.grants[1].Receipt
	second.Execution = first.Execution

	later := newRig(t, 10, true)
	require.NoError(t, later.trainer(3, TrainerRole{WorldSize: 1, StateAt: -1}, k))
	welcome, err := later.s.Attach(Member{Session: rigWorker, Worker: &WorkerRole{Slots: 4, Inventory: []Held{{Receipt: first}, {Receipt: second}}}})
	require.NoError(t, err)
	later.run()
	require.Equal(t, []leases.Receipt{second}, welcome.Void)
	require.EqualValues(t, 1, later.s.Stats().Adopted)
	outcome := leases.Outcome{Kind: leases.Success, Slots: []int32{0}, Handle: 1, Digest: [32]byte{1}}
	require.NoError(t, later.s.Terminal(first, outcome))
	require.ErrorIs(t, later.s.Terminal(second, outcome), leases.ErrStale)
}
