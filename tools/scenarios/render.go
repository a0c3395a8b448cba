package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// render makes the table; its links are relative to the directory dir below the root.
func render(sections []section, tests map[string][]test, dir string) string {
	var b strings.Builder
	b.WriteString("# What holds, and the tests that show it\n\n")
	b.WriteString("Made by `make scenarios` from the tests' names and `tools/scenarios/rows.txt`; `make check` compares.\n")
	b.WriteString("`go test ./leases -run S1_05` or `pytest -k S1_05` runs the tests of row S1.05.\n")
	up := strings.Repeat("../", strings.Count(filepath.ToSlash(filepath.Clean(dir)), "/")+1)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| row | what holds | tests |\n|---|---|---|\n", s.title)
		for _, r := range s.rows {
			var links []string
			for _, t := range tests[r.number] {
				links = append(links, "[`"+t.name+"`]("+up+t.path+")")
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.number, strings.ReplaceAll(r.promise, "|", `\|`), strings.Join(links, "<br>"))
		}
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
