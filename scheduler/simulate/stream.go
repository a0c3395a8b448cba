package simulate

import (
	"fmt"
	"slices"
	"strings"

	"outrider/scheduler"
	"outrider/scheduler/script"
)

// pushing is what the producers of a stream do. They know all its prompts, and push them in any order and as often as they like.
type pushing struct {
	producers []string
	calls     []int                // that pushed all prompts, last
	to        *scheduler.Scheduler // the life of the owner that they went to
}

// prompts names some of the prompts of a stream, from one on.
func (w *world) prompts(from, n int) string {
	var out strings.Builder
	for i := from; i < min(from+n, w.rows); i++ {
		fmt.Fprintf(&out, " r%d", i)
	}
	return out.String()
}

// push lets a producer push some prompts, known or not.
func (w *world) push() {
	if w.source != "stream" {
		return
	}
	if w.offers && !w.random.one(4) { // most prompts are known to who offers them only
		w.offer()
		return
	}
	n := w.any(w.producers, attached)
	if n == "" || w.random.one(20) {
		w.joinProducer()
		return
	}
	noWait := ""
	if w.random.one(4) {
		noWait = " no-wait"
	}
	w.do("push %s%s%s", n, w.prompts(w.random.pick(w.rows), w.random.between(1, w.batch)), noWait)
}

// offer lets workers that generate offer groups that they have made by themselves, known or not.
func (w *world) offer() {
	for range w.random.between(1, 3) {
		n := w.any(w.workers, func(v script.View) bool { return v.Attached && w.stage[v.Name] == "" })
		if !w.offers || n == "" {
			return
		}
		noWait := ""
		if w.random.one(4) {
			noWait = " no-wait"
		}
		w.say(n, "offer %s%s%s", n, w.prompts(w.random.pick(w.rows), 1), noWait)
	}
}

// joinProducer brings back one that was cut off, or a new one.
func (w *world) joinProducer() string {
	n := w.any(w.producers, cutOff)
	if n != "" {
		w.do("reattach %s", n)
		return n
	}
	w.made++
	n = fmt.Sprintf("c%d", w.made)
	w.do("client %s slow", n)
	w.producers = append(w.producers, n)
	return n
}

// pushAll pushes every prompt, as a producer does that starts anew. When all of them have been taken, it ends the stream.
func (w *world) pushAll() {
	if w.source != "stream" || w.offers && !w.calm && !w.random.one(4) {
		return
	}
	n := w.any(w.producers, attached)
	if n == "" {
		n = w.joinProducer()
	}
	if w.to == w.r.Owner() && len(w.calls) > 0 && w.allTaken() {
		w.do("end-stream %s", n)
		return
	}
	w.calls, w.to = nil, w.r.Owner()
	for from := 0; from < w.rows; from += w.batch {
		w.do("push %s%s", n, w.prompts(from, w.batch))
		w.calls = append(w.calls, w.r.Calls())
	}
}

func (w *world) allTaken() bool {
	return !slices.ContainsFunc(w.calls, func(call int) bool {
		a, ok := w.r.Answer(call)
		return !ok || a.Err != nil
	})
}

func (w *world) loseProducer() {
	switch n := w.any(w.producers, attached); {
	case n == "":
	case w.random.one(2):
		w.do("lose %s for-a-while", n)
	default:
		w.do("lose %s", n)
		w.producers = slices.DeleteFunc(w.producers, func(p string) bool { return p == n })
	}
}
