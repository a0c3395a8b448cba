package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// supply is a framework's own data source beside one life of the owner: a data set of prompts, and a buffer of what came back.
type supply struct {
	r        *Runner
	next     int64            // of the data set
	buffer   []int64          // goes out first
	given    map[uint64]int64 // by giving, as long as the run has it
	returned map[uint64]bool  // givings that came back
	holds    bool             // answers wait
	waiting  []func()         // such answers
	fails    int64            // questions that fail
	refuses  int64            // returns that fail
	short    int64            // groups that the next answer has, -1 for all
	extra    []int64          // groups that the next answer has instead of its last ones
	wrong    map[int64]string // groups with parents that are not theirs
}

func (r *Runner) supply(o *scheduler.Scheduler) *supply {
	s := r.supplies[o]
	if s == nil {
		s = &supply{r: r, given: map[uint64]int64{}, returned: map[uint64]bool{}, short: -1, wrong: map[int64]string{}}
		r.supplies[o] = s
	}
	return s
}

// cmdSource says what the data source does from here on; without a word what it has.
func (r *Runner) cmdSource(a *args) {
	s := r.supply(r.owner)
	s.fails, s.refuses = a.number("fails", s.fails), a.number("refuses", s.refuses)
	s.short = a.number("short", s.short)
	s.extra = append(s.extra, a.numbers("instead")...)
	for _, kind := range []string{"missing", "repeated", "foreign"} {
		for _, g := range a.numbers(kind) {
			s.wrong[g] = kind
		}
	}
	holds, answers := a.flag("holds"), a.flag("answers")
	s.holds = (s.holds || holds) && !answers
	for !s.holds && len(s.waiting) > 0 {
		answer := s.waiting[0]
		s.waiting = s.waiting[1:]
		answer()
	}
	if len(a.values) == 0 {
		r.say("the source is at %d, has back %v", s.next, s.buffer)
	}
}

// pulled is what the process that holds the source makes of a question.
func (s *supply) pulled(from *scheduler.Scheduler, e scheduler.Pull) string {
	text := fmt.Sprintf("pull %d", e.Groups)
	if e.Cursor != nil {
		s.next, _ = strconv.ParseInt(string(e.Cursor), 10, 64)
		s.buffer = nil
		text += fmt.Sprintf(" from %s on", e.Cursor)
	}
	for _, key := range e.Forget {
		delete(s.given, key)
	}
	if s.fails > 0 {
		s.fails--
		s.then(func() { from.Pulled(nil, nil, errors.New("the disk is gone")) })
		return text + ": fails"
	}
	n := int64(e.Groups)
	if s.short >= 0 {
		n, s.short = min(n, s.short), -1
	}
	var groups []int64
	for ; n > 0; n-- {
		switch {
		case len(s.buffer) > 0:
			groups = append(groups, s.buffer[0])
			s.buffer = s.buffer[1:]
		case s.next < s.r.supplied:
			groups = append(groups, s.next)
			s.next++
		}
	}
	instead := min(len(s.extra), len(groups))
	s.buffer = append(slices.Clone(groups[len(groups)-instead:]), s.buffer...)
	groups = append(groups[:len(groups)-instead], s.extra[:instead]...)
	s.extra = s.extra[instead:]
	var given []leases.Given
	for _, g := range groups {
		s.r.givings++
		s.given[s.r.givings] = g
		given = append(given, s.giving(s.r.givings, g))
	}
	cursor := []byte(strconv.FormatInt(s.next, 10))
	s.then(func() { from.Pulled(given, cursor, nil) })
	return text + ": " + strings.Trim(fmt.Sprint(groups), "[]")
}

func (s *supply) giving(key uint64, g int64) leases.Given {
	out := leases.Given{Key: key, Group: g, Digest: [16]byte{byte(g), 1}, Rows: fmt.Appendf(nil, "p%d", g)}
	for slot := range int64(s.r.cfg.GroupSize) {
		out.Of, out.Parents = append(out.Of, g), append(out.Parents, g*int64(s.r.cfg.GroupSize)+slot)
	}
	switch s.wrong[g] {
	case "missing":
		out.Of, out.Parents = out.Of[1:], out.Parents[1:]
	case "repeated":
		out.Parents[1] = out.Parents[0]
	case "foreign":
		out.Of[0]++
	}
	return out
}

// gaveBack is what the process that holds the source does with what comes back.
func (s *supply) gaveBack(from *scheduler.Scheduler, e scheduler.GiveBack) string {
	var text []string
	var failed []uint64
	for _, key := range e.Keys {
		g, known := s.given[key]
		if !known || s.returned[key] {
			s.r.broken("giving %d comes back, and was not given or came back before", key)
		}
		if s.refuses > 0 {
			s.refuses--
			failed = append(failed, key)
			text = append(text, fmt.Sprintf("%d fails", g))
			continue
		}
		s.returned[key] = true
		s.buffer = append(s.buffer, g)
		text = append(text, fmt.Sprint(g))
	}
	var err error
	if failed != nil {
		err = errors.New("it takes nothing")
	}
	s.then(func() { from.GivenBack(failed, err) })
	return "back " + strings.Join(text, ", ")
}

func (s *supply) then(answer func()) {
	if s.holds {
		s.waiting = append(s.waiting, answer)
	} else {
		answer()
	}
}
