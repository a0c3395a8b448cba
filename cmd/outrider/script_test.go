package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const story = "# One group.\n\nowner len=1 epochs=1 group-size=1 batch=1\nworker w1\n----\n"

func TestScriptIsPlayedComparedAndRewritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(path, []byte(story), 0o600))

	var out bytes.Buffer
	err := playScripts(&out, []string{path}, false)
	require.ErrorContains(t, err, "blocks of lines [3]")
	require.Contains(t, out.String(), "grant w1 x1: group 0 attempt 1 row 0 version 0")

	require.NoError(t, playScripts(&out, []string{path}, true))
	out.Reset()
	require.NoError(t, playScripts(&out, []string{path}, false))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(text), out.String())
}

func TestScriptRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(path, []byte("owner len=1\n\nstats\n"), 0o600))
	require.ErrorContains(t, playScripts(&bytes.Buffer{}, []string{path}, false), "no line of ----")
	require.ErrorContains(t, playScripts(&bytes.Buffer{}, []string{path + "x"}, false), "no such file")
}
