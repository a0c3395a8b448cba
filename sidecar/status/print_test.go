package status

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge/wire"
)

func some() Run {
	return Run{Name: "mine", ID: "17", Stats: &wire.Stats{
		Books:       &wire.Books{Reserved: &wire.Count{Groups: 12}, Acknowledged: &wire.Count{Groups: 8}, Discarded: map[string]*wire.Count{"stale": {Groups: 1}, "user": {Groups: 2}}, Live: &wire.Count{Groups: 1}},
		NextRollout: 4, Bytes: 212_345_678, BytesLimit: 8_000_000_000, Executing: 3, ExecutingLimit: 8, WaitsFor: "engines that confirm version 3",
		Members: []*wire.MemberStats{
			{Name: "engine-0", Role: "worker", Session: 0xf000000000000001, Pid: 7, Executing: 3, Slots: 8, ConfirmedVersion: 2},
			{Name: "trainer-0", Role: "actor", Pid: 9, MappedBytes: 424_000_000, HeldSegments: 3, HeldBytes: 412_000_000, HeldSeconds: 600},
		},
	}}
}

func TestS11_15_TheScreenNamesWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, some().Print(&b))
	for _, line := range []string{
		"12 groups reserved = 8 acknowledged + 3 discarded (stale 1, user 2) + 0 failed + 1 live",
		"executing 3/8 samples",
		"bytes 212.3 MB/8 GB",
		"a take waits: engines that confirm version 3",
		"held by actor trainer-0 pid 9 for 10m0s, 3 segments, 412 MB",
		"worker  engine-0   7    3/8        2 (not current)",
	} {
		require.Contains(t, b.String(), line)
	}
	b.Reset()
	require.NoError(t, Run{Name: "mine", ID: "17", Err: errors.New("the owner is lost")}.Print(&b))
	require.Contains(t, b.String(), "the owner is lost")
}

func TestTheObjectHasEveryNumberUnderItsNameOnTheWire(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(some())
	require.NoError(t, err)
	var got struct {
		Run, ID string
		Stats   map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, "mine", got.Run)
	require.EqualValues(t, 4, got.Stats["next_rollout"])
	require.EqualValues(t, 0, got.Stats["rewinds"], "zeros too")
	require.NotContains(t, got.Stats, "step", "what was not asked for is not there")
	require.Equal(t, "f000000000000001", got.Stats["members"].([]any)[0].(map[string]any)["session"])
	require.EqualValues(t, 1, got.Stats["books"].(map[string]any)["discarded"].(map[string]any)["stale"].(map[string]any)["groups"])
}
