package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio/arrowtest"
)

func TestArrowVerifyPrintsOneObjectAFileAndSaysTheWorstByItsStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	damaged, unsupported := file("damaged & <odd>", "no stream"), file("unsupported", "ARROW1\x00\x00")
	run := func(args ...string) (int, []map[string]any) {
		status, printed, _ := outrider(append([]string{"arrow", "verify"}, args...)...)
		var objects []map[string]any
		for line := range strings.SplitSeq(strings.TrimSuffix(printed, "\n"), "\n") {
			var o map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &o), line)
			objects = append(objects, o)
		}
		return status, objects
	}
	status, objects := run(unsupported, damaged)
	require.Equal(t, 1, status)
	require.Equal(t, unsupported, objects[0]["file"])
	require.Equal(t, "unsupported", objects[0]["verdict"])
	require.Equal(t, damaged, objects[1]["file"])
	require.Equal(t, "damaged", objects[1]["verdict"])
	require.NotEmpty(t, objects[1]["error"])
	status, _ = run(unsupported)
	require.Equal(t, 2, status)
}

func TestArrowWithoutAKnownWordOrFileIsWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"arrow"}, {"arrow", "verify"}, {"arrow", "paint", "x"}, {"arrow", "cat"}, {"arrow", "schema", "a", "b"}} {
		status, printed, said := outrider(args...)
		require.Equal(t, 64, status, args)
		require.Empty(t, printed)
		require.Contains(t, said, "outrider", args)
	}
}

func TestArrowCatAndSchemaPrintAStream(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.arrows")
	stream, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", arrowtest.Table(t, 2).Fd()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, stream, 0o600))
	status, printed, said := outrider("arrow", "cat", path)
	require.Zero(t, status, said)
	require.Equal(t, []string{`{"question":"question 0"}`, `{"question":"question 1"}`, ""}, strings.Split(printed, "\n"))
	status, printed, said = outrider("arrow", "schema", path)
	require.Zero(t, status, said)
	require.Equal(t, "question: utf8\n", printed)
}

func TestArrowCatAndSchemaSayWhyTheyPrintNothing(t *testing.T) {
	t.Parallel()
	damaged, unsupported := filepath.Join(t.TempDir(), "damaged"), filepath.Join(t.TempDir(), "file-format")
	require.NoError(t, os.WriteFile(damaged, []byte("no stream"), 0o600))
	require.NoError(t, os.WriteFile(unsupported, []byte("ARROW1\x00\x00"), 0o600))
	for _, word := range []string{"cat", "schema"} {
		status, printed, said := outrider("arrow", word, damaged)
		require.Equal(t, 1, status)
		require.Empty(t, printed)
		require.Contains(t, said, "damaged")
		status, _, said = outrider("arrow", word, unsupported)
		require.Equal(t, 2, status)
		require.Contains(t, said, "file format")
	}
}

// outrider runs the command as a shell would and returns its exit status and what it wrote.
func outrider(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	status = execute(cmd, &errs)
	return status, out.String(), errs.String()
}
