package simulate

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
	"outrider/scheduler/script"
)

// world is one simulated run.
type world struct {
	settings
	r      *script.Runner
	random *random // of the event that happens
	calm   bool    // no more faults: the run is to end

	// commands are the lines so far, outputs what each gave; outputs are kept only when a script is to be written.
	commands []string
	outputs  []string
	record   bool
	failure  string

	pushing
	workers []string // those that may be alive
	drains  map[string]bool
	stage   map[string]string // that a worker serves; others generate
	made    int               // workers and clients ever
	clients []string
	holds   []string // that clients may hold
	past    []message
	unsaid  []message // reports that are on their way
	writes  []*write  // that wait for leave
	job     *job
}

// message is one that its process may send again.
type message struct {
	process string
	session leases.Session
	line    string
}

func newWorld(s settings, record bool) *world {
	w := &world{settings: s, r: script.New(), record: record, drains: map[string]bool{}, stage: map[string]string{}}
	w.job = &job{w: w}
	return w
}

// do plays one command line, and stops the simulation when it breaks a promise.
func (w *world) do(format string, v ...any) string {
	if w.failure != "" {
		return ""
	}
	line := format
	if len(v) > 0 {
		line = fmt.Sprintf(format, v...)
	}
	out := w.r.Line(line)
	w.commands = append(w.commands, line)
	if w.record {
		w.outputs = append(w.outputs, out)
	}
	if strings.Contains(out, "usage: ") || line == w.owner && strings.Contains(out, "error: ") {
		panic(fmt.Sprintf("simulate: %s: %s", line, out))
	}
	if i := strings.Index(out, "BROKEN"); i >= 0 {
		w.failure, _, _ = strings.Cut(out[i:], "\n")
	}
	return out
}

// say plays a line that its process may send again later.
func (w *world) say(process, format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	w.past = append(w.past, message{process, w.r.View(process).Session, line})
	if len(w.past) > 30 {
		w.past = w.past[1:]
	}
	w.do("%s", line)
}

// again sends a message once more, when the process that sent it is still there.
func (w *world) again() {
	if len(w.past) == 0 {
		return
	}
	w.sayAgain(w.past[w.random.pick(len(w.past))])
}

func (w *world) sayAgain(m message) {
	if v := w.r.View(m.process); v.Session != m.session || !v.Attached && !strings.HasPrefix(m.line, "admit") {
		return
	}
	if x, reported := strings.CutPrefix(m.line, "report "); reported && !w.finished(m.process, x) {
		return // released: there is nothing left to report
	}
	w.do("%s", m.line)
}

func (w *world) finished(worker, execution string) bool {
	return slices.ContainsFunc(w.r.View(worker).Finished, func(x script.Execution) bool { return x.Name == execution })
}

// known says whether the owner has learned its base.
func (w *world) known() bool {
	o := w.r.Owner()
	if o == nil {
		return false
	}
	_, err := o.NextRollout()
	return err == nil
}

func (w *world) stats() scheduler.Stats { return w.r.Owner().Stats() }

// any chooses one of some names for which ok holds, "" when there is none.
func (w *world) any(names []string, ok func(script.View) bool) string {
	var some []string
	for _, n := range names {
		if ok(w.r.View(n)) {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		return ""
	}
	return some[w.random.pick(len(some))]
}

func alive(v script.View) bool    { return v.Alive }
func attached(v script.View) bool { return v.Attached }
func cutOff(v script.View) bool   { return v.Alive && !v.Attached }
func busy(v script.View) bool     { return v.Attached && len(v.Running) > 0 }
