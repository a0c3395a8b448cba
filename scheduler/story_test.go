package scheduler_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"outrider/scheduler/script"
)

// TestStories plays every script under testdata; -rewrite accepts what comes out.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			r := script.New()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out := r.Block(append([]string{first(d)}, lines(d.Input)...))
				require.NotContains(t, out, "usage: ", d.Pos)
				require.NotContains(t, out, "BROKEN", d.Pos)
				return out
			})
		})
	}
}

// first puts together again what datadriven took apart.
func first(d *datadriven.TestData) string {
	line := d.Cmd
	for _, a := range d.CmdArgs {
		line += " " + a.Key
		if len(a.Vals) > 0 {
			line += "=" + strings.Join(a.Vals, ",")
		}
	}
	return line
}

func lines(input string) []string {
	if input == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(input, "\n"), "\n")
}

// TestScriptsReadAsTheCommandDoes holds that both readers of a script file, this test's and the command's, agree.
func TestScriptsReadAsTheCommandDoes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		played, differ, err := script.Play(string(text))
		require.NoError(t, err, file)
		require.Empty(t, differ, file)
		require.Equal(t, string(text), played, file)
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/scripts.md")
	require.NoError(t, err)
	for _, c := range script.Commands() {
		require.Contains(t, string(text), "`"+c, "docs/scripts.md does not say what %s does", c)
	}
}
