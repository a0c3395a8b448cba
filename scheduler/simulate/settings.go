package simulate

import (
	"fmt"
	"strings"
)

// settings are the command that starts a run, and what the world needs to know of it.
type settings struct {
	owner     string
	groupSize int
	batch     int
	prefetch  int
	calm      int // one event in so many is a fault
	largest   int // bytes of a group, but for a few
	// pace makes the run wait for weight updates.
	pace   bool
	source string // table, stream or pulled
	rows   int    // of a table, or prompts, or groups of a data source
	// offers says that workers make groups of a stream by themselves.
	offers bool
	// keyed workers make the rows, and say what they made.
	keyed bool
	// stages are what every group goes through after its generation.
	stages []string
}

// drawSettings chooses source, limits and policy: small ones, so that every bound is met often.
func drawSettings(r *random) settings {
	s := settings{groupSize: r.between(1, 4), batch: r.between(1, 4), prefetch: r.between(0, 1), calm: 10 << r.pick(4), largest: 90}
	var line strings.Builder
	say := func(format string, v ...any) { fmt.Fprintf(&line, " "+format, v...) }
	rows := r.between(1, 24)
	if r.one(2) {
		rows *= 4
	}
	s.drawSource(r, say, rows)
	say("group-size=%d batch=%d prefetch=%d frees", s.groupSize, s.batch, s.prefetch)
	least := s.batch * (1 + s.prefetch)
	completed := 0
	if r.one(2) {
		completed = least + r.pick(3)
		say("completed=%d", completed)
	}
	order, pace := choose(r, "fifo", "lifo", "windowed", "freshest"), r.one(4)
	s.pace = pace
	if r.one(2) {
		retained := max(least, completed) + r.pick(4)
		if completed > 0 && (order == "windowed" || pace) { // a batch may wait for one group while others are complete
			retained = completed
		}
		say("retained=%d", retained)
	}
	if r.one(2) {
		say("executing=%d", s.groupSize+r.pick(6))
	}
	if r.one(2) {
		bytes := 4 * r.between(1, 99)
		s.largest = min(s.largest, bytes)
		say("bytes=%d", bytes)
	}
	say("submission=%s", choose(r, "sample", "group"))
	say("order=%s", order)
	if order == "windowed" {
		say("window=%d", r.pick(10))
	}
	if pace {
		say("pace batches-per-update=%d", r.between(1, 2))
	}
	last := choose(r, "short", "drop", "next-epoch")
	if s.source != "table" && last == "next-epoch" { // only a table has epochs
		last = "short"
	}
	say("last-batch=%s", last)
	if samples := r.between(1, s.batch*s.groupSize); r.one(3) && !pace {
		if r.one(2) {
			say("batch-samples=%d", samples)
		} else {
			say("batch-tokens=%d", 10*samples) // a sample has 10
		}
	}
	if r.one(2) {
		say("execution-deadline=%d cancel-grace=%d", r.between(2, 7), r.between(1, 3))
	}
	say("stale=%s", choose(r, "requeue", "drop"))
	say("full=%s", choose(r, "block", "evict"))
	staleness := r.between(-1, 2)
	if pace {
		staleness = max(staleness, 0)
	}
	say("max-staleness=%d", staleness)
	say("max-attempts=%d max-requeues=%d max-failed=1000000", r.between(1, 3), r.between(1, 3))
	if r.one(2) {
		say("start-deadline=%d join-timeout=%d stall-warning=%d", r.between(1, 9), r.between(1, 9), r.between(1, 9))
	}
	if r.one(3) {
		s.stages = []string{"judge", "critic"}[:r.between(1, 2)]
		say("stages=%s", strings.Join(s.stages, ","))
	}
	s.owner = "owner" + line.String()
	return s
}

// drawSource chooses where the prompts come from.
func (s *settings) drawSource(r *random, say func(string, ...any), rows int) {
	s.source, s.rows = choose(r, "table", "table", "stream", "pulled"), rows
	if s.source == "stream" {
		s.offers = r.one(2)
		say("stream waiting=%d", s.batch+r.pick(rows))
		return
	}
	if s.source == "pulled" {
		say("pulled len=%d", rows)
		return
	}
	say("len=%d epochs=%d", rows, r.between(1, 2))
	if r.one(2) {
		say("shuffle seed=%d", r.pick(9))
	}
	if s.keyed = r.one(4); s.keyed {
		say("keyed")
	}
}

func choose(r *random, words ...string) string { return words[r.pick(len(words))] }
