package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// Rows that are not in their segment, as a wrong or a spoilt locator names them, are refused, and what was there stays whole.
func TestRowsThatAreNotThereJoinNothing(t *testing.T) {
	fd := shared(t, arrowtest.Rollouts(t, 2, 0))
	defer bridge.CloseDescriptors([]int{fd})

	nothing := &arrowio.Columns{}
	still, err := joinRows(nothing, fd, &wire.Locator{FirstRow: 1, Rows: 2})
	require.Error(t, err)
	require.Same(t, nothing, still)

	rows, err := joinRows(nothing, fd, &wire.Locator{Rows: 2})
	require.NoError(t, err)
	defer rows.Release()
	for _, at := range []*wire.Locator{{FirstRow: 1, Rows: 2}, {Rows: 2}} { // not there; columns that are taken
		still, err = joinRows(rows, fd, at)
		require.Error(t, err)
		require.Same(t, rows, still)
		require.EqualValues(t, 2, still.Rows())
	}
}
