package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	only := flag.String("only", "", "run the guards whose name has this word")
	seeds := flag.Int("seeds", 1500, "how many seeds each guard is looked for with")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		fail(err)
	}
	dir, err := os.MkdirTemp("", "broken")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	unnoticed := 0
	for _, g := range guards {
		if !strings.Contains(g.name, *only) {
			continue
		}
		red, err := g.run(root, dir, *seeds)
		switch {
		case err != nil:
			_ = os.RemoveAll(dir)
			fail(fmt.Errorf("%s: %w", g.name, err))
		case red == "":
			unnoticed++
			red = "NOTHING GOES RED"
		}
		fmt.Printf("%-58s %s\n", g.name, red)
	}
	if unnoticed > 0 {
		_ = os.RemoveAll(dir)
		fail(fmt.Errorf("%d guards can be taken away and nothing notices: write the missing tests", unnoticed))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "broken:", err)
	os.Exit(1)
}

// guard is one line of defence and the change that takes it away.
type guard struct {
	name string
	file string // from the root
	// old is in the file exactly once; it becomes gone.
	old, gone string
}

// overlay writes the changed file, and what tells the go command to take it instead.
func (g guard) overlay(root, dir string) (string, error) {
	path := filepath.Join(root, g.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), g.old); n != 1 {
		return "", fmt.Errorf("%s has the code of this guard %d times, not once; bring tools/broken/guards.go up to date:\n%s", g.file, n, g.old)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), g.old, g.gone, 1)), 0o600); err != nil { //nolint:gosec // in a directory of its own
		return "", err
	}
	layer, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, layer, 0o600)
}

// run plays tests, stories and seeds without the guard until something goes red, and returns that, "" for nothing.
func (g guard) run(root, dir string, seeds int) (string, error) {
	overlay, err := g.overlay(root, dir)
	if err != nil {
		return "", err
	}
	args := []string{"test", "-overlay", overlay, "-vet=off", "-ldflags=-s -w", "-count=1", "-timeout=60s", "-failfast"}
	variants := "^(TestS10_0[35]_Stories|TestScriptsReadAsTheCommandDoes)" // the stories again and again: seconds, where the others take one
	passes := [][]string{
		{"./leases", "-rapid.checks=20", "-rapid.nofailfile", "-rapid.shrinktime=1s"},
		{"./scheduler", "-skip=" + variants, "-rapid.nofailfile", "-rapid.shrinktime=1s"},
		{"./scheduler", "-run=" + variants},
		{"./scheduler/simulate", fmt.Sprintf("-simulate.seeds=%d", seeds)},
	}
	switch first, _, _ := strings.Cut(g.file, "/"); first {
	case "leases":
	case "scheduler":
		passes = passes[1:]
	default:
		passes = [][]string{{"./" + first, "-rapid.nofailfile", "-rapid.shrinktime=1s"}} // which both have such tests: a failing draw leaves no file
	}
	var out string
	for _, pass := range passes {
		if out, err = test(root, slices.Concat(args, pass)...); err != nil {
			break
		}
	}
	if err == nil {
		return "", nil
	}
	if strings.Contains(out, "[build failed]") {
		return "", fmt.Errorf("the change does not compile:\n%s", out)
	}
	return reds(out), nil
}

func test(root string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "OUTRIDER_VERIFY=all")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)
	failedSeed = regexp.MustCompile(`# (Seed \d+: [^\n]{0,90})`)
	panicked   = regexp.MustCompile(`(?m)^panic: ([^\n]{0,90})`)
	// hanging is a test that the deadline of the run has met.
	hanging = regexp.MustCompile(`(?m)^\t+(Test\S+) \(\S+s\)$`)
)

// reds picks the shortest of what says why a run is red: a seed, a story, a test, a panic.
func reds(out string) string {
	if m := failedSeed.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	var names []string
	for _, m := range failedTest.FindAllStringSubmatch(out, -1) {
		if story, ok := strings.CutPrefix(m[1], "TestStories/"); ok {
			names = append(names, story)
		} else if m[1] != "TestStories" {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		if m := hanging.FindStringSubmatch(out); m != nil {
			return m[1] + " waits for ever"
		}
		if m := panicked.FindStringSubmatch(out); m != nil {
			return m[1]
		}
		return "red"
	}
	more := ""
	if n := len(names) - 3; n > 0 {
		names, more = names[:3], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}
