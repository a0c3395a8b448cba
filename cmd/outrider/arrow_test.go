package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		var out bytes.Buffer
		status := arrowCommand(append([]string{"verify"}, args...), &out)
		var objects []map[string]any
		for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
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

func TestArrowWithoutAKnownWordPrintsItsUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"verify"}, {"paint", "x"}} {
		var out bytes.Buffer
		require.Equal(t, 64, arrowCommand(args, &out))
		require.Equal(t, arrowUsage, out.String())
	}
}
