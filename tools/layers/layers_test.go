package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of        string
		imports   []string
		tests     []string
		offending []string
	}{
		"downward is fine":       {of: "outrider/scheduler", imports: []string{"outrider/leases", "fmt", "time"}},
		"upward":                 {of: "outrider/leases", imports: []string{"outrider/scheduler"}, offending: []string{"outrider/leases imports outrider/scheduler: leases imports nothing of this module"}},
		"past the table":         {of: "outrider/bridge/wire", imports: []string{"outrider/sidecar"}, offending: []string{"outrider/bridge/wire imports outrider/sidecar: bridge may import scheduler, leases, arrowio only"}},
		"a sibling below":        {of: "outrider/bridge", imports: []string{"outrider/bridge/wire"}},
		"pure core, I/O":         {of: "outrider/leases", imports: []string{"os"}, offending: []string{"outrider/leases imports os: leases is pure; what needs this belongs into the sidecar"}},
		"pure core, part of it":  {of: "outrider/leases", imports: []string{"sync/atomic"}, offending: []string{"outrider/leases imports sync/atomic: leases is pure; what needs this belongs into the sidecar"}},
		"pure core, a module":    {of: "outrider/scheduler", imports: []string{"google.golang.org/grpc"}, offending: []string{"outrider/scheduler imports google.golang.org/grpc: scheduler depends on the standard library only"}},
		"tests of the core":      {of: "outrider/leases", tests: []string{"os", "pgregory.net/rapid"}},
		"tests keep directions":  {of: "outrider/leases", tests: []string{"outrider/scheduler"}, offending: []string{"a test of outrider/leases imports outrider/scheduler: leases imports nothing of this module"}},
		"Arrow at home":          {of: "outrider/arrowio", imports: []string{"github.com/apache/arrow/go/v15/arrow"}},
		"Arrow elsewhere":        {of: "outrider/sidecar", imports: []string{"github.com/apache/arrow/go/v15/arrow"}, offending: []string{"outrider/sidecar imports github.com/apache/arrow/go/v15/arrow: only arrowio may"}},
		"a directory of no rule": {of: "outrider/attic", offending: []string{`outrider/attic: no rule for "attic"; give it a place in tools/layers/rules.go`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.offending, directions(listed{ImportPath: c.of, Imports: c.imports, TestImports: c.tests}))
		})
	}
}

func TestImpurities(t *testing.T) {
	t.Parallel()
	found, err := impurities("core.go", `package core
import "time"
func f(now time.Time, d time.Duration) time.Time { return now.Add(d) }
func g() { go f(time.Now(), time.Second) }
var c chan int
`)
	require.NoError(t, err)
	require.Equal(t, []string{
		"core.go:4: a goroutine in a pure package",
		"core.go:4: time.Now in a pure package; the time comes with the event",
		"core.go:5: a channel in a pure package",
	}, found)

	found, err = impurities("core.go", "package core\nimport clock \"time\"\n")
	require.NoError(t, err)
	require.Equal(t, []string{"core.go:2: time imported under another name in a pure package"}, found)
}

func TestS10_08_TheWallClockIsFound(t *testing.T) {
	t.Parallel()
	found, err := wallClock("side.go", `package sidecar
func f(begun time.Time) time.Duration { return time.Since(begun) }
func g(begun time.Time) int64 { return time.Now().Unix() - begun.UnixNano() }
`)
	require.NoError(t, err)
	require.Equal(t, []string{
		"side.go:3: Unix is of the wall clock, which jumps; subtract times of one process",
		"side.go:3: UnixNano is of the wall clock, which jumps; subtract times of one process",
	}, found)
}

func TestThisModuleKeepsItsTable(t *testing.T) {
	t.Parallel()
	offences, err := check("outrider/tools/...")
	require.NoError(t, err)
	require.Empty(t, offences)
}
