package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimulateSaysWhatItPlayed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, simulation{seeds: 8, first: 5, events: 30, dir: t.TempDir()}.run(&out))
	require.Regexp(t, `^8 seeds from 5, \d+ commands, 0 failed\n$`, out.String())
	require.ErrorContains(t, simulation{seeds: 0, events: 30}.run(&out), "seeds=0")
}
