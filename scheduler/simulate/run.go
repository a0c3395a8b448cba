package simulate

import (
	"fmt"
	"strings"
)

// Result is what came of one seed.
type Result struct {
	Seed uint64
	// Lines counts the commands that were played.
	Lines int
	// Failure is the first promise that did not hold, "" when all did.
	Failure string
	// Script plays the run up to its failure; "" when there was none.
	Script string
	// Kept and Drawn are how many of the drawn events the script needs.
	Kept, Drawn int
	// Faults counts the faults among the drawn events, by name.
	Faults map[string]int
}

// Settings says what a seed runs with.
func Settings(seed uint64) string {
	r := random(seed)
	return drawSettings(&r).owner
}

// occurrence is one drawn event with its own randomness: leaving another out does not change what it draws.
type occurrence struct {
	event int
	seed  uint64
}

// Run plays one seed with as many events. One that fails is shrunk and written down.
func Run(seed uint64, events int) Result {
	r := random(seed)
	s := drawSettings(&r)
	drawn, faulty := make([]occurrence, events), map[string]int{}
	for i := range drawn {
		drawn[i] = occurrence{draw(&r, s.calm), r.next()}
		if name, ok := fault(drawn[i].event); ok {
			faulty[name]++
		}
	}
	w := play(s, drawn, false)
	out := Result{Seed: seed, Lines: len(w.commands), Failure: w.failure, Drawn: len(drawn), Faults: faulty}
	if w.failure == "" {
		return out
	}
	kept := shrink(s, drawn, kind(w.failure))
	w = play(s, kept, true)
	out.Failure, out.Kept, out.Script = w.failure, len(kept), w.script(seed)
	return out
}

// play lets the events happen, then the run end.
func play(s settings, drawn []occurrence, record bool) *world {
	w := newWorld(s, record)
	first := random(1)
	w.random = &first
	w.do("%s", s.owner)
	w.addWorker()
	w.job.attach()
	for _, o := range drawn {
		if w.failure != "" {
			return w
		}
		r := random(o.seed)
		w.random = &r
		events[o.event].happen(w)
	}
	last := random(2)
	w.random = &last
	w.end()
	return w
}

// kind is what two failures have in common when they are the same: their words without the numbers.
func kind(failure string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, failure)
}

// mostPlays bounds the work of shrinking one seed.
const mostPlays = 2000

// shrink leaves out events, ever smaller stretches of them, as long as the same failure comes.
func shrink(s settings, drawn []occurrence, failure string) []occurrence {
	plays := 0
	fails := func(some []occurrence) bool {
		plays++
		return kind(play(s, some, false).failure) == failure
	}
	for size := len(drawn) / 2; size > 0 && plays < mostPlays; {
		less := false
		for i := 0; i < len(drawn) && plays < mostPlays; {
			some := append(append([]occurrence{}, drawn[:i]...), drawn[min(i+size, len(drawn)):]...)
			if fails(some) {
				drawn, less = some, true
			} else {
				i += size
			}
		}
		if !less || size > 1 {
			size /= 2
		}
	}
	return drawn
}

// script writes what was played as a script file.
func (w *world) script(seed uint64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Seed %d: %s\n", seed, w.failure)
	for i, c := range w.commands {
		fmt.Fprintf(&out, "\n%s\n----\n%s", c, w.outputs[i])
	}
	return out.String()
}
