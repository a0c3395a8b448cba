package simulate

import (
	"errors"
	"fmt"
	"slices"

	"outrider/leases"
	"outrider/scheduler"
	"outrider/scheduler/script"
)

const mostWorkers = 4

func (w *world) addWorker() {
	w.made++
	name, kind := fmt.Sprintf("w%d", w.made), ""
	stage, lacks := w.lacking()
	if !lacks && len(w.stages) > 0 && w.random.one(2) {
		stage = w.stages[w.random.pick(len(w.stages))]
	}
	switch {
	case stage != "":
		kind = " stage=" + stage
	case !w.random.one(4):
		kind = " engine"
	}
	least := 1
	if w.offers { // it may take no groups
		least = 0
	}
	w.do("worker %s slow process=%s slots=%d host=host%d%s", name, name, w.random.between(least, 6), w.random.pick(2), kind)
	w.workers = append(w.workers, name)
	w.stage[name] = stage
}

// lacking is a stage that nobody serves who stays, "" for the generation; false when there is none.
func (w *world) lacking() (string, bool) {
	for _, stage := range append([]string{""}, w.stages...) {
		if !slices.ContainsFunc(w.workers, func(n string) bool { return w.stage[n] == stage && !w.drains[n] }) {
			return stage, true
		}
	}
	return "", false
}

// reapWorkers forgets the dead.
func (w *world) reapWorkers() {
	var left []string
	for _, n := range w.workers {
		if w.r.View(n).Alive {
			left = append(left, n)
		}
	}
	w.workers = left
}

// finish ends one execution in some way. Its report may come late.
func (w *world) finish(worker string, x script.Execution) {
	said, v := "", w.r.View(worker)
	report := message{worker, v.Session, "report " + x.Name}
	w.past = append(w.past, report)
	switch {
	case !v.Attached:
		said = " unsaid"
	case !w.calm && w.random.one(4):
		said = " unsaid"
		w.unsaid = append(w.unsaid, report)
	}
	kind := w.random.pick(60)
	switch {
	case w.stage[worker] != "" && !x.Stopped && kind > 7:
		w.do("success %s bytes=%d%s", x.Name, w.random.between(1, w.largest), said)
	case x.Stopped || !w.calm && kind < 4:
		w.do("retry %s reason=aborted%s", x.Name, said)
	case !w.calm && kind == 6:
		w.do("failure %s reason=raised%s", x.Name, said)
	case !w.calm && kind == 7:
		w.do("discard %s reason=zero_std%s", x.Name, said)
	case !w.calm && kind == 8:
		w.do("success %s slots=0 parents=%d%s", x.Name, 1<<20, said)
	case !w.calm && kind == 10 && w.groupSize > 1:
		w.do("success %s slots=1%s", x.Name, said)
	case !w.calm && kind == 11 && w.keyed:
		w.do("success %s %s%s", x.Name, choose(w.random, "made=0", "columns=2"), said)
	case !w.calm && kind == 9:
		w.do("success %s aborted=1%s", x.Name, said)
	default:
		bytes := w.random.between(1, w.largest)
		if !w.calm && w.random.one(20) {
			bytes = 100
		}
		line := fmt.Sprintf("success %s bytes=%d%s%s", x.Name, bytes, w.versions(worker, x), said)
		if x.Promise == scheduler.NoPromise || !v.Attached || int64(bytes) <= x.Promise {
			w.do("%s", line)
			return
		}
		w.ask(&write{worker: worker, execution: x.Name, bytes: bytes, line: line})
	}
}

// write is an execution that has ended and waits for leave to write its data.
type write struct {
	worker, execution string
	bytes             int
	line              string // reports it
	call              int
	owner             *scheduler.Scheduler
	connections       int
}

func (w *world) ask(q *write) {
	w.do("credit %s bytes=%d", q.execution, q.bytes)
	q.call, q.owner, q.connections = w.r.Calls(), w.r.Owner(), w.r.View(q.worker).Connections
	w.writes = append(w.writes, q)
}

func (w *world) asks(execution string) bool {
	return slices.ContainsFunc(w.writes, func(q *write) bool { return q.execution == execution })
}

// write reports what has been given leave, and asks again where a cut has lost the call.
func (w *world) write() {
	waiting := w.writes
	w.writes = nil
	for _, q := range waiting {
		v := w.r.View(q.worker)
		i := slices.IndexFunc(v.Running, func(x script.Execution) bool { return x.Name == q.execution })
		a, answered := w.r.Answer(q.call)
		switch {
		case i < 0: // its worker is gone
		case !v.Attached:
			w.writes = append(w.writes, q)
		case answered && a.Err == nil:
			w.do("%s", q.line)
		case answered && errors.Is(a.Err, leases.ErrData):
			w.do("failure %s reason=too-large", q.execution)
		case answered:
			w.do("retry %s reason=no-leave", q.execution)
		case q.owner != w.r.Owner() || q.connections != v.Connections:
			w.ask(q)
		default:
			w.writes = append(w.writes, q)
		}
	}
}

// versions are those that the samples of an execution used: from the one at its grant to one that its engine loaded
// meanwhile, announced or not.
func (w *world) versions(worker string, x script.Execution) string {
	if w.random.one(2) {
		return ""
	}
	return fmt.Sprintf(" versions=%d-%d", x.Version, max(x.Version, w.r.View(worker).Confirmed))
}

func (w *world) finishOne() {
	if worker := w.any(w.workers, busy); worker != "" {
		running := w.r.View(worker).Running
		if x := running[w.random.pick(len(running))]; !w.asks(x.Name) {
			w.finish(worker, x)
		}
	}
}

func (w *world) lateReport() {
	if n := len(w.unsaid); n > 0 {
		m := w.unsaid[w.random.pick(n)]
		w.unsaid = slices.DeleteFunc(w.unsaid, func(o message) bool { return o == m })
		w.sayAgain(m)
	}
}

func (w *world) sampleDone() {
	if worker := w.any(w.workers, func(v script.View) bool { return busy(v) && w.stage[v.Name] == "" }); worker != "" {
		running := w.r.View(worker).Running
		x := running[w.random.pick(len(running))]
		w.say(worker, "done %s n=%d", x.Name, max(x.Done, w.random.between(0, w.groupSize)))
	}
}

func (w *world) setSlots() {
	if worker := w.any(w.workers, attached); worker != "" {
		w.do("slots %s %d", worker, w.random.pick(7))
	}
}

func (w *world) deliverWorker() {
	if worker := w.any(w.workers, func(v script.View) bool { return v.Attached && v.Inbox > 0 }); worker != "" {
		w.do("deliver %s n=%d", worker, w.random.between(1, 3))
	}
}
