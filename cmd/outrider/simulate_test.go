package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/sidecar"
)

func TestSimulateSaysWhatItPlayed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, simulation{seeds: 8, first: 5, events: 30, dir: t.TempDir()}.run(&out))
	require.Regexp(t, `(?s)\d+ a worker dials again\n.*8 seeds from 5, \d+ a minute, 240 events, \d+ of them faults, \d+ commands, 0 failed\n$`, out.String())
}

func TestSimulateOfNothingIsAMistakeAndNoFailedSeed(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--seeds=0", "--seeds=-1", "--events=0"} {
		var said bytes.Buffer
		cmd := simulateCommand()
		cmd.SetArgs([]string{flag})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		require.Equal(t, sidecar.ExitUsage, execute(cmd, &said))
		require.Contains(t, said.String(), flag)
	}
}
