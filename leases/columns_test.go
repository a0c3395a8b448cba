package leases

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestS11_16_NamesOfColumnsAreBounded(t *testing.T) {
	t.Parallel()
	known := columns{}
	for i := range mostColumns {
		given := []Column{{Name: fmt.Sprint("c", i), Type: "int64"}}
		require.NoError(t, known.check(int64(i), given))
		known.add(int64(i), given)
	}
	require.NoError(t, known.check(9999, []Column{{"c7", "int64"}}))
	require.ErrorIs(t, known.check(9999, []Column{{"more", "int64"}}), ErrData)
	require.ErrorContains(t, known.check(9999, []Column{{"c7", "float64"}}), `group 9999: column "c7" is float64, in group 7 it is int64`)
}
