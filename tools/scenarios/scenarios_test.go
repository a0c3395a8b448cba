package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestFindReadsNamesOfEveryKind(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"core/core_test.go":             "package core\nfunc TestS1_05_Twice(t *T) {}\nfunc helperS9_09_() {}\nfunc (x) TestS9_08_Method() {}\n// func TestS9_07_Comment\n",
		"core/core.go":                  "package core\nfunc TestS9_06_NoTestFile() {}\n",
		"core/testdata/s1_05_s2_01.txt": "reserve 1\n",
		"core/notes/s9_05.txt":          "",
		"python/tests/test_life.py":     "class TestLife:\n    async def test_L_02_kill(self): ...\n# def test_S9_04_comment(): ...\n",
		"python/tests/life.py":          "def test_S9_03_no_test_file(): ...\n",
		".venv/x/test_other.py":         "def test_S9_02_not_ours(): ...\n",
		"build/run/test_other.py":       "def test_S9_01_not_ours(): ...\n",
	})

	tests, err := find(root)

	require.NoError(t, err)
	require.Equal(t, map[string][]test{
		"S1.05": {{"TestS1_05_Twice", "core/core_test.go"}, {"s1_05_s2_01.txt", "core/testdata/s1_05_s2_01.txt"}},
		"S2.01": {{"s1_05_s2_01.txt", "core/testdata/s1_05_s2_01.txt"}},
		"L.02":  {{"test_L_02_kill", "python/tests/test_life.py"}},
	}, tests)
}

func TestCompareNamesRowsWithoutTestsAndTestsWithoutRows(t *testing.T) {
	t.Parallel()
	sections := []section{{title: "S1 Source", rows: []row{{"S1.01", "order"}, {"S1.02", "pristine"}}}}
	require.Equal(t, []string{
		"S1.02 has no test: pristine",
		"TestS1_03_End in a/b_test.go is for S1.03, which tools/scenarios/rows.txt does not list; add the row",
	}, compare(sections, map[string][]test{"S1.01": {{"TestS1_01_Order", "a/a_test.go"}}, "S1.03": {{"TestS1_03_End", "a/b_test.go"}}}))
}

func TestParseRowsRefuses(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"S1.01  no section":                "rows.txt:1: not a row of a section",
		"## S1\nS1.1  one digit":           "rows.txt:2: not a row of a section",
		"## S1\nS1.01  once\nS1.01  again": "rows.txt:3: S1.01 stands there twice",
	} {
		_, err := parseRows(text)
		require.ErrorContains(t, err, message)
	}
}

func TestTableOutOfDateIsAProblemUntilItIsWritten(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"leases/testdata/s1_01_order.txt": ""})
	const stale = "docs/scenarios.md is out of date; run make scenarios and commit it"

	problems, err := run(root, "docs/scenarios.md", false)
	require.NoError(t, err)
	require.Contains(t, problems, stale)

	_, err = run(root, "docs/scenarios.md", true)
	require.NoError(t, err)
	problems, err = run(root, "docs/scenarios.md", false)
	require.NoError(t, err)
	require.NotContains(t, problems, stale)

	table, err := os.ReadFile(filepath.Join(root, "docs", "scenarios.md"))
	require.NoError(t, err)
	require.Contains(t, string(table), "[`s1_01_order.txt`](../leases/testdata/s1_01_order.txt)")
}
