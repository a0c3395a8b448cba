package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// test is one test function or script, and the file it stands in (slashes, below the root).
type test struct{ name, path string }

var (
	sectionToken = regexp.MustCompile(`^(?:[sS]\d{1,2}|[lL])$`)
	rowToken     = regexp.MustCompile(`^\d{2}$`)
	pythonTest   = regexp.MustCompile(`(?m)^[ \t]*(?:async )?def (test_\w+)`)
)

// find returns the tests below root that carry a row's number, by number, in the order of their files.
func find(root string) (map[string][]test, error) {
	tests := map[string][]test{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			// .venv, .build, .git; what `make run` leaves.
			if relative != "." && (strings.HasPrefix(name, ".") || relative == "build") {
				return fs.SkipDir
			}
			return nil
		}
		names, err := testNames(path)
		if err != nil {
			return err
		}
		for _, t := range names {
			for _, number := range numbers(t) {
				tests[number] = append(tests[number], test{name: t, path: filepath.ToSlash(relative)})
			}
		}
		return nil
	})
	return tests, err
}

// testNames returns the tests of one file, in their order; a file that holds none by its name is not opened.
func testNames(path string) ([]string, error) {
	base := filepath.Base(path)
	var names []string
	switch {
	case strings.HasSuffix(base, "_test.go"):
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	case strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".py"):
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, m := range pythonTest.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	case strings.HasSuffix(base, ".txt") && strings.Contains(filepath.ToSlash(path), "/testdata/"):
		names = append(names, base)
	}
	return names, nil
}

// numbers returns the rows that a name carries: S5_07_… is S5.07; several may follow each other at the start.
func numbers(name string) []string {
	var found []string
	name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(name, ".txt"), "Test"), "test_")
	parts := strings.Split(name, "_")
	for i := 0; i+1 < len(parts) && sectionToken.MatchString(parts[i]) && rowToken.MatchString(parts[i+1]); i += 2 {
		found = append(found, strings.ToUpper(parts[i])+"."+parts[i+1])
	}
	return found
}
