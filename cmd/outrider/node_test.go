package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNodePrintsAScreenOrAnObject(t *testing.T) {
	t.Parallel()
	status, printed, said := outrider("node")
	require.Zero(t, status, said)
	require.Contains(t, printed, "huge pages")
	status, printed, said = outrider("node", "--json")
	require.Zero(t, status, said)
	var report struct{ Facts []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(printed), &report))
	require.NotEmpty(t, report.Facts)
	status, _, _ = outrider("node", "somewhere")
	require.Equal(t, 2, status)
}
