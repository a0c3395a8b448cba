package scheduler

import (
	"container/heap"
	"time"

	"outrider/leases"
)

// A group whose execution was lost with its worker, or to its deadline, goes out again at once the first time. When that
// happens again and again it rests longer each time, so that a group that kills engines does not kill one after the other.
// Nothing but its own data can fail a group.
const (
	firstRest = time.Second
	longRest  = time.Minute
	// manyLosses in a row are worth a person's attention.
	manyLosses = 3
)

// restAfter is how long a group rests that has lost that many executions in a row.
func restAfter(losses int) time.Duration {
	if losses < 2 {
		return 0
	}
	return pause(losses - 1)
}

// pause is how long to wait after so many failures in a row, at least one: each one more doubles it.
func pause(failures int) time.Duration { return min(firstRest<<min(failures-1, 16), longRest) }

// rests are the groups that rest, by when they wake. An entry counts only when due says the same: a group may have been
// adopted, or woken by a rewind, meanwhile.
type rests struct {
	due  map[int64]time.Duration
	heap restHeap
}

type rest struct {
	at    time.Duration
	group int64
}

func (r *rests) add(group int64, at time.Duration) {
	if r.due == nil {
		r.due = map[int64]time.Duration{}
	}
	r.due[group] = at
	heap.Push(&r.heap, rest{at, group})
}

// next says when the first one wakes.
func (r *rests) next() (time.Duration, bool) {
	if len(r.heap) == 0 {
		return 0, false
	}
	return r.heap[0].at, true
}

// wake returns the groups that have rested long enough to the source.
func (s *Scheduler) wake() {
	for at, ok := s.rests.next(); ok && at <= s.now; at, ok = s.rests.next() {
		e := heap.Pop(&s.rests.heap).(rest)
		if s.rests.due[e.group] == e.at {
			delete(s.rests.due, e.group)
			s.ledger.Wake(e.group)
		}
	}
}

// interrupt returns a group whose execution was lost to the source; an unowned run loses it.
func (s *Scheduler) interrupt(g *leases.Group) {
	if s.cfg.Unowned {
		s.ledger.Lose(g)
		return
	}
	id := g.ID()
	s.stats.Requeued++
	s.rest(id, s.ledger.Interrupt(g))
}

// rest lets a group rest that has lost that many executions in a row.
func (s *Scheduler) rest(id int64, losses int) {
	s.stats.Interrupted++
	if d := restAfter(losses); d > 0 && s.ledger.Rest(id) {
		s.rests.add(id, s.clock+d)
		level := Info
		if losses >= manyLosses {
			level = Warn
		}
		s.log(level, "group rests: its executions were lost, one after the other", "group", id, "lost", losses, "rest", d)
	}
}

type restHeap []rest

func (h restHeap) Len() int { return len(h) }
func (h restHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].group < h[j].group
}
func (h restHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *restHeap) Push(x any)   { *h = append(*h, x.(rest)) }
func (h *restHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
