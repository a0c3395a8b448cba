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

// life is what happens in a run that goes well, faults what may go wrong, each in proportion to its weight. A rule of the owner
// that a run can meet in another way gets a line here.
var (
	life = []event{
		{"everybody goes on", 250, (*world).flow},
		{"engines that joined get weights", 60, func(w *world) { w.job.nudge() }},
		{"the job goes on", 250, func(w *world) { w.job.step() }},
		{"messages reach a worker", 250, (*world).deliverWorker},
		{"an execution ends", 200, (*world).finishOne},
		{"data may be written", 60, (*world).write},
		{"a late report comes", 60, (*world).lateReport},
		{"what is finished is kept beside its worker", 120, (*world).keep},
		{"a sample ends", 30, (*world).sampleDone},
		{"messages reach a trainer", 120, func(w *world) { w.job.deliver() }},
		{"time passes", 60, func(w *world) { w.do("advance %ds", w.random.pick(6)) }},
		{"evaluation", 10, (*world).evaluate},
		{"a checkpoint is made", 15, func(w *world) { w.job.save() }},
		{"a checkpoint is durable", 10, func(w *world) { w.job.saved() }},
		{"a worker joins", 30, (*world).joinWorker},
		{"a worker changes its slots", 5, (*world).setSlots},
		{"a worker comes back", 30, (*world).returnWorker},
		{"ranks come back", 40, func(w *world) { w.job.attach() }},
		{"prompts are pushed", 60, (*world).push},
		{"a group is offered", 60, (*world).offer},
		{"all prompts are pushed", 4, (*world).pushAll},
		{"the data source answers", 40, (*world).sourceAnswers},
	}
	faults = []event{
		{"a message comes again", 30, (*world).again},
		{"a group is cancelled", 5, (*world).cancelGroup},
		{"a worker joins", 7, (*world).joinWorker},
		{"a worker dies", 13, (*world).killWorker},
		{"a worker is cut off", 7, (*world).cutWorker},
		{"a worker comes back", 7, (*world).returnWorker},
		{"a worker dials again", 7, (*world).redialWorker},
		{"a worker drains", 2, (*world).drainWorker},
		{"the owner is lost", 7, (*world).loseOwner},
		{"the job is restarted", 5, func(w *world) { w.job.restart(w.random.one(2)) }},
		{"all but the workers are lost", 5, (*world).loseJobAndOwner},
		{"everything is lost", 2, (*world).loseAll},
		{"a rank is cut off", 7, func(w *world) { w.job.cutRank() }},
		{"a rank's sidecar is lost", 7, func(w *world) { w.job.loseSidecar() }},
		{"ranks come back", 7, func(w *world) { w.job.attach() }},
		{"a producer is lost", 5, (*world).loseProducer},
		{"the data source goes wrong", 7, (*world).failSource},
	}
	events = slices.Concat(life, faults)
)

// draw chooses an event: a fault once in so many times.
func draw(r *random, calm int) int {
	if r.one(calm) {
		return len(life) + weighted(r, faults)
	}
	return weighted(r, life)
}

// fault names an event that is one.
func fault(event int) (string, bool) {
	return events[event].name, event >= len(life)
}

func weighted(r *random, of []event) int {
	total := 0
	for _, e := range of {
		total += e.weight
	}
	at := r.pick(total)
	for i, e := range of {
		if at -= e.weight; at < 0 {
			return i
		}
	}
	return 0
}

// keep gives data of a worker to any other process: to whom the owner would have it given, or to whom it would have had before.
func (w *world) keep() {
	from := w.any(w.workers, func(v script.View) bool { return v.Alive && len(v.Finished) > 0 && w.stage[v.Name] == "" })
	to := w.any(slices.Concat(w.workers, w.clients), attached)
	if from == "" || to == "" || from == to {
		return
	}
	finished := w.r.View(from).Finished
	x := finished[w.random.pick(len(finished))].Name
	if !slices.ContainsFunc(w.unsaid, func(m message) bool { return m.line == "report "+x }) {
		w.do("kept %s %s", to, x)
	}
}

func (w *world) cancelGroup() {
	if w.known() {
		w.do("cancel-groups %d", w.random.pick(24))
	}
}

func (w *world) joinWorker() {
	w.reapWorkers()
	if n := w.any(w.workers, func(v script.View) bool { return w.drains[v.Name] && len(v.Running)+len(v.Finished) == 0 }); n != "" {
		w.do("leave %s", n)
	}
	if w.reapWorkers(); len(w.workers) < mostWorkers+2*len(w.stages) && (len(w.workers) == 0 || w.random.one(3)) {
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
	for _, n := range slices.Concat(w.workers, w.clients, w.producers) {
		if w.r.View(n).Alive {
			w.do("lose %s", n)
		}
	}
	w.pushing = pushing{}
	w.workers, w.clients, w.holds, w.past, w.unsaid, w.writes = nil, nil, nil, nil, nil, nil
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
		w.do("client %s slow process=%s", name, name)
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
