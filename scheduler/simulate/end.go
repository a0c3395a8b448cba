package simulate

import "fmt"

// A run without faults must end: within so many rounds in which something changes, and never so many in a row without.
const (
	mostRounds = 2000
	idleRounds = 12
)

// end lets a run without further faults come to its end: it must, whatever has happened before.
func (w *world) end() {
	w.calm = true
	for _, n := range w.clients {
		if w.r.View(n).Alive {
			w.do("lose %s", n)
		}
	}
	if w.r.Owner() == nil {
		w.do("restart-owner")
	}
	idle, before := 0, w.progress()
	for round := 0; !w.job.finished && w.failure == ""; round++ {
		w.round(idle)
		now := w.progress()
		if idle++; now != before {
			idle, before = 0, now
		}
		if idle == idleRounds || round == mostRounds {
			w.do("stuck") // says what waits for what
			if w.failure == "" {
				w.failure = "BROKEN: stuck"
			}
			return
		}
	}
	w.drain()
	w.do("proof %s over", w.job.holder())
	w.do("close")
	if a, ok := w.r.Answer(w.r.Calls()); w.failure == "" && (!ok || a.Err != nil) {
		w.failure = fmt.Sprintf("BROKEN: the run does not close: %v", a.Err)
	}
}

// round lets everybody do what is there to do. The longer nothing changes, the more time passes.
func (w *world) round(idle int) {
	w.reapWorkers()
	for _, lacks := w.lacking(); lacks; _, lacks = w.lacking() {
		w.addWorker()
	}
	for _, n := range w.workers {
		if cutOff(w.r.View(n)) {
			w.do("reattach %s", n)
		}
	}
	w.sourceAnswers()
	if idle > 0 {
		w.pushAll()
	}
	w.flow()
	for _, n := range w.workers {
		for _, x := range w.r.View(n).Finished {
			if idle > 0 {
				w.do("report %s", x.Name)
			}
		}
	}
	w.job.nudge()
	w.do("advance %ds", 1<<min(2*idle, 16))
}

// flow lets everybody who is there do what there is to do.
func (w *world) flow() {
	w.drain()
	w.write()
	for range len(w.unsaid) {
		w.lateReport()
	}
	if !w.calm {
		w.do("advance 1s")
	}
	for _, n := range w.workers {
		if w.calm && w.r.View(n).Slots == 0 {
			w.do("slots %s %d", n, w.groupSize)
		}
		for _, x := range w.r.View(n).Running {
			if !w.asks(x.Name) {
				w.finish(n, x)
			}
		}
	}
	w.job.attach()
	w.drain()
	for range 6 {
		w.job.step()
		w.drain()
	}
}

// drain delivers what is on the way.
func (w *world) drain() {
	for _, n := range w.workers {
		if v := w.r.View(n); v.Attached && v.Inbox > 0 {
			w.do("deliver %s", n)
		}
	}
	for _, k := range w.job.ranks {
		if v := w.r.View(k.name); v.Attached && v.Inbox > 0 {
			w.do("deliver %s", k.name)
		}
		if v := w.r.View(k.name); v.Attached && v.Words > 0 {
			w.do("appended %s", k.name)
		}
	}
}

// progress is all that changes while a run goes on.
func (w *world) progress() string {
	o := w.r.Owner()
	if o == nil {
		return ""
	}
	st := o.Stats()
	return fmt.Sprint(st.Term, st.Timeline, st.NextRollout, st.Announced, st.Recovering, st.Executing, st.Terminal, st.Completed, st.Leased,
		st.Dispatched, st.Books.Reserved.Groups, st.OpenLeases, st.WaitingTakes, st.Unconfirmed, w.job.call != 0, w.job.next != nil)
}
