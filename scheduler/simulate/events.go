package simulate

import (
	"fmt"
	"slices"

	"outrider/scheduler/script"
)

// event is one thing that can happen in a run.
type event struct {
	name   string
	weight int
	happen func(*world)
}

// events are what happens, each in proportion to its weight. A rule of the owner that a run can meet in another way gets a
// line here.
var events = []event{
	{"the job goes on", 250, func(w *world) { w.job.step() }},
	{"messages reach a worker", 250, (*world).deliverWorker},
	{"an execution ends", 200, (*world).finishOne},
	{"a sample ends", 30, (*world).sampleDone},
	{"messages reach a trainer", 120, func(w *world) { w.job.deliver() }},
	{"a message comes again", 30, (*world).again},
	{"time passes", 20, func(w *world) { w.do("advance %ds", w.random.pick(4)) }},
	{"a group is cancelled", 5, func(w *world) {
		if w.known() {
			w.do("cancel-groups %d", w.random.pick(24))
		}
	}},
	{"evaluation", 10, (*world).evaluate},
	{"a worker joins", 14, (*world).joinWorker},
	{"a worker dies", 13, (*world).killWorker},
	{"a worker is cut off", 7, (*world).cutWorker},
	{"a worker comes back", 14, (*world).returnWorker},
	{"a worker dials again", 7, (*world).redialWorker},
	{"a worker drains", 2, (*world).drainWorker},
	{"the owner is lost", 7, (*world).loseOwner},
	{"the job is restarted", 7, func(w *world) { w.job.restart(w.random.one(2)) }},
	{"all but the workers are lost", 7, (*world).loseJobAndOwner},
	{"everything is lost", 2, (*world).loseAll},
	{"a rank is cut off", 7, func(w *world) { w.job.cutRank() }},
	{"a rank's sidecar is lost", 7, func(w *world) { w.job.loseSidecar() }},
	{"ranks come back", 14, func(w *world) { w.job.attach() }},
}

var totalWeight = func() (n int) {
	for _, e := range events {
		n += e.weight
	}
	return n
}()

// draw chooses an event.
func draw(r *random) int {
	at := r.pick(totalWeight)
	for i, e := range events {
		if at -= e.weight; at < 0 {
			return i
		}
	}
	return 0
}

func (w *world) joinWorker() {
	if w.reapWorkers(); len(w.workers) < mostWorkers {
		w.addWorker()
	}
}

func (w *world) killWorker() {
	if n := w.any(w.workers, alive); n != "" {
		w.do("lose %s", n)
	}
}

func (w *world) cutWorker() {
	if n := w.any(w.workers, attached); n != "" {
		w.do("lose %s for-a-while", n)
	}
}

func (w *world) returnWorker() {
	if n := w.any(w.workers, cutOff); n != "" {
		w.do("reattach %s", n)
	}
}

// redialWorker cuts a connection before the owner notices that.
func (w *world) redialWorker() {
	if n := w.any(w.workers, attached); n != "" {
		w.do("reattach %s", n)
	}
}

func (w *world) drainWorker() {
	if n := w.any(w.workers, attached); n != "" {
		w.do("drain %s", n)
		w.drains[n] = true
	}
}

func (w *world) loseOwner() { w.do("restart-owner") }

func (w *world) loseJobAndOwner() {
	w.job.die()
	w.do("restart-owner")
}

// loseAll ends the whole job. It starts again as another run, from its last checkpoint.
func (w *world) loseAll() {
	w.job.die()
	for _, n := range slices.Concat(w.workers, w.clients) {
		if w.r.View(n).Alive {
			w.do("lose %s", n)
		}
	}
	w.workers, w.clients, w.holds, w.past = nil, nil, nil, nil
	line := w.owner
	if c := w.job.latest(); c != nil {
		line += " state=" + c.name
	}
	w.do("%s", line)
	w.job.load(true)
}

// evaluate begins or ends a hold of a driver of its own.
func (w *world) evaluate() {
	switch w.random.pick(3) {
	case 0:
		w.made++
		name := fmt.Sprintf("c%d", w.made)
		w.do("client %s slow", name)
		w.clients = append(w.clients, name)
	case 1:
		if n := w.any(w.clients, attached); n != "" {
			before := w.stats().Holds
			out := w.do("hold %s reason=evaluation", n)
			if w.stats().Holds > before {
				var hold string
				if _, err := fmt.Sscanf(out, "%s held", &hold); err == nil {
					w.holds = append(w.holds, hold)
				}
			}
		}
	default:
		w.endEvaluation()
	}
}

// endEvaluation releases a hold, or loses who has it.
func (w *world) endEvaluation() {
	if n := len(w.holds); n > 0 && !w.random.one(3) {
		hold := w.holds[n-1]
		w.holds = w.holds[:n-1]
		w.do("release %s", hold)
	} else if n := w.any(w.clients, alive); n != "" {
		w.do("lose %s", n)
		w.clients = slices.DeleteFunc(w.clients, func(c string) bool { return c == n })
	}
}

func inTransit(v script.View) bool { return v.Attached && v.Inbox+v.Words > 0 }
