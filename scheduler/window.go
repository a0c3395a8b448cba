package scheduler

import "outrider/leases"

// window is the order Windowed: the untaken groups by dispatch. Groups that have left are found out when they are passed.
type window struct {
	entries []windowed
	seq     uint64
}

// windowed is one dispatch. A record of a group is used again, so its id and the execution tell whether it is still that group: both,
// because two lives of an owner of which no log had heard may have given one number to two groups.
type windowed struct {
	group     *leases.Group
	id        int64
	execution uint64
	seq       uint64
}

// push takes a dispatched group in. One that a former life dispatched goes before those of this one.
func (w *window) push(s *Scheduler, g *leases.Group) {
	if len(w.entries) > 2*int(s.ledger.Live())+64 {
		w.compact(s)
	}
	w.seq++
	e := windowed{group: g, id: g.ID(), execution: s.ledger.Receipt(g).Execution, seq: w.seq}
	i := len(w.entries)
	for ; i > 0 && w.entries[i-1].execution > e.execution; i-- {
		e.seq = w.entries[i-1].seq
	}
	for j := i; j > 0 && w.entries[j-1].execution == e.execution; j-- {
		if w.entries[j-1].id == e.id {
			w.entries[j-1].group = g // it had left and was adopted again
			return
		}
	}
	w.entries = append(w.entries, windowed{})
	copy(w.entries[i+1:], w.entries[i:])
	w.entries[i] = e
}

func (s *Scheduler) untaken(e windowed) bool {
	switch e.group.State() {
	case leases.Executing, leases.Terminal, leases.Completed:
		return e.group.ID() == e.id && s.ledger.Receipt(e.group).Execution == e.execution
	}
	return false
}

func (w *window) compact(s *Scheduler) {
	kept := w.entries[:0]
	for _, e := range w.entries {
		if s.untaken(e) {
			kept = append(kept, e)
		}
	}
	clear(w.entries[len(kept):])
	w.entries = kept
}

// pick returns COMPLETED groups in order of dispatch until they are a full batch, none further than size dispatches from the first that is left behind.
func (w *window) pick(s *Scheduler, want leases.Tally, size int64) []*leases.Group {
	w.compact(s)
	var out []*leases.Group
	var have leases.Tally
	var first uint64 // the first that is left behind
	for _, e := range w.entries {
		if full(have, want) || first > 0 && int64(e.seq-first) >= size {
			break
		}
		if e.group.State() == leases.Completed {
			out = append(out, e.group)
			have = have.Plus(e.group.Tally())
		} else if first == 0 {
			first = e.seq
		}
	}
	return out
}
