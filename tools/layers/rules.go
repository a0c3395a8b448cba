package main

import "strings"

const module = "outrider"

// rule says what the packages of one top-level directory may import.
type rule struct {
	// internal lists the module's own directories that it may import besides itself.
	internal []string
	// external lists prefixes of other modules' packages that it may import; nil: any but those that onlyIn keeps elsewhere.
	external []string
	// pure: no goroutine, clock, randomness, lock or I/O outside of tests.
	pure bool
}

// rules has a line for each top-level directory that holds Go code; a directory without one is an offence.
var rules = map[string]rule{
	"leases":    {external: []string{}, pure: true},
	"scheduler": {internal: []string{"leases"}, external: []string{}, pure: true},
	"arrowio":   {},
	"bridge":    {internal: []string{"scheduler", "leases", "arrowio"}},
	"sidecar":   {internal: []string{"bridge", "scheduler", "leases", "arrowio"}},
	"cmd":       {internal: []string{"sidecar", "bridge", "scheduler", "leases", "arrowio"}},
	"tools":     {external: []string{}},
	// The rival of the benchmarks: the same core behind grpcio.
	"python": {internal: []string{"scheduler", "leases"}},
}

// onlyIn keeps a dependency in one directory, so that a move to another version of it stays there.
var onlyIn = map[string]string{
	"github.com/apache/arrow/": "arrowio",
}

// testExternal is what tests of any package may import besides.
var testExternal = []string{
	"github.com/cockroachdb/datadriven",
	"github.com/stretchr/testify/",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// impure lists the standard packages that bring a clock, randomness, a lock or I/O; a package under one of them counts.
// time is not among them: durations and instants come in with events. What reads its clock is found by name.
var impure = []string{
	"context", "crypto/rand", "database", "io", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "testing",
}

// clock lists the functions of time that read or wait on the machine's clock.
var clock = map[string]bool{
	"After": true, "AfterFunc": true, "NewTicker": true, "NewTimer": true, "Now": true,
	"Since": true, "Sleep": true, "Tick": true, "Until": true,
}

// top is the first directory of a package path of this module, or "" for another module's.
func top(path string) string {
	rest, own := strings.CutPrefix(path, module+"/")
	if !own {
		return ""
	}
	dir, _, _ := strings.Cut(rest, "/")
	return dir
}

func under(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && top(path) == ""
}
