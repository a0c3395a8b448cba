package simulate

import (
	"fmt"

	"outrider/scheduler/script"
)

const mostWorkers = 4

func (w *world) addWorker() {
	w.made++
	name, engine := fmt.Sprintf("w%d", w.made), ""
	if !w.random.one(4) {
		engine = " engine"
	}
	w.do("worker %s slow slots=%d host=host%d%s", name, w.random.between(1, 6), w.random.pick(2), engine)
	w.workers = append(w.workers, name)
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
	said := ""
	if !w.calm && w.random.one(4) {
		said = " unsaid"
	}
	w.past = append(w.past, message{worker, w.r.View(worker).Session, "report " + x.Name})
	kind := w.random.pick(20)
	switch {
	case x.Stopped || !w.calm && kind < 2:
		w.do("retry %s reason=aborted%s", x.Name, said)
	case !w.calm && kind == 2:
		w.do("failure %s reason=raised%s", x.Name, said)
	case !w.calm && kind == 3:
		w.do("discard %s reason=zero_std%s", x.Name, said)
	case !w.calm && kind == 4:
		w.do("success %s slots=0 parents=%d%s", x.Name, 1<<20, said)
	case !w.calm && kind == 5:
		w.do("success %s aborted=1%s", x.Name, said)
	default:
		w.do("success %s bytes=%d%s%s", x.Name, w.random.between(1, 90), w.versions(x), said)
	}
}

// versions are those that the samples of an execution used: from the one at its grant to one that came meanwhile.
func (w *world) versions(x script.Execution) string {
	if w.random.one(2) || !w.known() {
		return ""
	}
	newest := max(x.Version, w.stats().Announced)
	return fmt.Sprintf(" versions=%d-%d", x.Version, newest)
}

func (w *world) finishOne() {
	if worker := w.any(w.workers, busy); worker != "" {
		running := w.r.View(worker).Running
		w.finish(worker, running[w.random.pick(len(running))])
	}
}

func (w *world) sampleDone() {
	if worker := w.any(w.workers, busy); worker != "" {
		running := w.r.View(worker).Running
		x := running[w.random.pick(len(running))]
		w.do("done %s n=%d", x.Name, max(x.Done, w.random.between(0, w.groupSize)))
	}
}

func (w *world) deliverWorker() {
	if worker := w.any(w.workers, func(v script.View) bool { return v.Attached && v.Inbox > 0 }); worker != "" {
		w.do("deliver %s n=%d", worker, w.random.between(1, 3))
	}
}
