package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed rows.txt
var rowsText string

func main() {
	write := flag.Bool("write", false, "write the table instead of comparing it")
	root := flag.String("root", ".", "the work tree")
	table := flag.String("table", "docs/scenarios.md", "the table, below the root")
	flag.Parse()
	problems, err := run(*root, *table, *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(2)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "scenarios:", p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// run writes or compares the table and returns what is wrong, a line each.
func run(root, table string, write bool) ([]string, error) {
	sections, err := parseRows(rowsText)
	if err != nil {
		return nil, err
	}
	tests, err := find(root)
	if err != nil {
		return nil, err
	}
	problems := compare(sections, tests)
	path, text := filepath.Join(root, table), render(sections, tests, filepath.Dir(table))
	if write {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
		return problems, os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page of the documentation
	}
	if found, err := os.ReadFile(path); err != nil || string(found) != text {
		problems = append(problems, table+" is out of date; run make scenarios and commit it")
	}
	return problems, nil
}

// compare returns the rows without a test and the tests without a row.
func compare(sections []section, tests map[string][]test) []string {
	var problems []string
	promised := map[string]bool{}
	for _, s := range sections {
		for _, r := range s.rows {
			promised[r.number] = true
			if len(tests[r.number]) == 0 {
				problems = append(problems, fmt.Sprintf("%s has no test: %s", r.number, r.promise))
			}
		}
	}
	for _, number := range sorted(tests) {
		if !promised[number] {
			t := tests[number][0]
			problems = append(problems, fmt.Sprintf("%s in %s is for %s, which tools/scenarios/rows.txt does not list; add the row", t.name, t.path, number))
		}
	}
	return problems
}
