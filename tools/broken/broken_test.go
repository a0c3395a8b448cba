package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestS12_10_GuardsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, g := range guards {
		require.False(t, names[g.name], "%s: named twice", g.name)
		names[g.name] = true
		require.NotEqual(t, g.old, g.gone, g.name)
	}
}

func TestS12_10_EveryGuardIsFoundInTheTree(t *testing.T) {
	t.Parallel()
	for _, g := range guards {
		_, err := g.overlay(filepath.Join("..", ".."), t.TempDir())
		require.NoError(t, err, g.name)
	}
}

// A guard whose code has changed is an error, not a pass.
func TestAGuardThatIsNotFoundIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("if twice { if twice {"), 0o600))
	for _, old := range []string{"if never {", "if twice {"} {
		_, err := guard{name: "g", file: "a.go", old: old, gone: "if true {"}.overlay(dir, dir)
		require.ErrorContains(t, err, "bring tools/broken/guards.go up to date")
	}
	_, err := guard{name: "g", file: "a.go", old: "{ if twice {", gone: "{"}.overlay(dir, dir)
	require.NoError(t, err)
	changed, err := os.ReadFile(filepath.Join(dir, "changed.go"))
	require.NoError(t, err)
	require.Equal(t, "if twice {", string(changed))
}

func TestWhatGoesRedIsNamed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Seed 7: BROKEN: stuck: 1 takes wait", reds("--- FAIL: TestX\n # Seed 7: BROKEN: stuck: 1 takes wait\n"))
	require.Equal(t, "s1_02_a, TestY", reds("--- FAIL: TestStories (0.0s)\n    --- FAIL: TestStories/s1_02_a (0.0s)\n--- FAIL: TestY (0.1s)\n"))
	require.Equal(t, "no more", reds("panic: no more\n"))
	require.Equal(t, "TestZ waits for ever", reds("panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestZ (1m0s)\n"))
}
