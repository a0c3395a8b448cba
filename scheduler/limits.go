package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"outrider/leases"
)

const (
	defaultJoinWindow = 5 * time.Second
	defaultCloseGrace = 10 * time.Second
	defaultAttempts   = 3
	defaultRequeues   = 3
	// failedShare of a finite source may fail before the run ends.
	failedShare = 100
	// mostGroups bounds what counts groups or samples, mostFactor what is multiplied with each other and what one worker runs at once:
	// nothing derived overflows, and no slip of a finger makes the owner reserve more than it has memory for.
	mostGroups = int64(1) << 42
	mostFactor = 1 << 20
)

// complete fills in what was left out and refuses what cannot work, all problems at once.
func (c *Config) complete() error {
	if c.Prefetch == 0 {
		c.Prefetch = 1
	}
	c.Prefetch = max(c.Prefetch, 0)
	gs := int64(max(c.GroupSize, 1))
	most := (c.BatchSamples + gs - 1) / gs // groups, when no slot returns more than one sample
	if c.BatchGroups == 0 && most > 0 {
		c.BatchGroups = int(min(most, mostGroups))
	}
	if c.Policy.MaxAttempts == 0 {
		c.Policy.MaxAttempts = defaultAttempts
	}
	if c.Policy.MaxRequeues == 0 {
		c.Policy.MaxRequeues = defaultRequeues
	}
	if c.Waiting == 0 {
		c.Waiting = defaultWaiting
	}
	if c.Policy.MaxFailed == 0 && c.Source.Stream {
		c.Policy.MaxFailed = failedShare
	}
	if c.Policy.MaxFailed == 0 {
		c.Policy.MaxFailed = max(1, c.Source.Len*max(1, c.Source.Epochs)/failedShare)
	}
	if c.Policy.BatchesPerUpdate == 0 {
		c.Policy.BatchesPerUpdate = 1
	}
	if c.Policy.Window == 0 {
		c.Policy.Window = int64(c.BatchGroups)
	}
	if c.JoinWindow == 0 {
		c.JoinWindow = defaultJoinWindow
	}
	if c.CloseGrace == 0 {
		c.CloseGrace = defaultCloseGrace
	}
	problems := slices.Concat(c.params().Problems(), c.Times.complete(), c.stageProblems())
	say := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	l, p := c.Limits, c.Policy
	least := int64(max(c.BatchGroups, 1)) * int64(1+c.Prefetch)
	say(c.BatchGroups > mostFactor, "batch_groups=%d; it must be at most %d", c.BatchGroups, mostFactor)
	say(c.BatchGroups < 1, "batch_groups=%d; it must be at least 1, with batch_tokens too: the most groups of a batch", c.BatchGroups)
	say(c.BatchSamples > 0 && c.BatchTokens > 0, "batch_samples=%d and batch_tokens=%d: a batch has one size; leave one out", c.BatchSamples, c.BatchTokens)
	say(most > int64(c.BatchGroups), "batch_groups=%d groups of group_size=%d may have fewer than batch_samples=%d; leave batch_groups out, or raise it to at least %d", c.BatchGroups, gs, c.BatchSamples, most)
	say(p.Pace && c.BatchSamples+c.BatchTokens != 0, "pace reckons with batches of so many groups; leave out batch_samples and batch_tokens")
	for _, n := range []struct {
		name        string
		value, most int64
	}{
		{"executing", l.Executing, mostGroups},
		{"retained", l.Retained, mostGroups},
		{"completed", l.Completed, mostGroups},
		{"bytes", l.Bytes, math.MaxInt64},
		{"batch_samples", c.BatchSamples, mostGroups},
		{"batch_tokens", c.BatchTokens, math.MaxInt64},
	} {
		say(n.value < 0, "%s=%d is negative; leave it out or give a positive number", n.name, n.value)
		say(n.value > n.most, "%s=%d; it must be at most %d", n.name, n.value, n.most)
	}
	say(l.Executing > 0 && l.Executing < gs, "executing=%d samples is below group_size=%d: no group could ever run; raise executing to at least %d", l.Executing, gs, gs)
	if !c.Unowned {
		say(l.Completed > 0 && l.Completed < least, "completed=%d groups is below batch_groups=%d × (1 + %d prefetched leases): a batch could never be filled; raise completed to at least %d", l.Completed, c.BatchGroups, c.Prefetch, least)
		say(l.Retained > 0 && l.Retained < max(l.Completed, least), "retained=%d groups is below completed=%d; raise retained to at least %d", l.Retained, max(l.Completed, least), max(l.Completed, least))
	} else {
		say(l.Completed > 0 && l.Completed < int64(c.BatchGroups), "completed=%d groups is below batch_groups=%d: a batch could never be filled; raise completed to at least %d", l.Completed, c.BatchGroups, c.BatchGroups)
	}
	say(c.Source.Stream && c.Waiting < int64(c.BatchGroups), "waiting=%d groups is below batch_groups=%d: a batch could never be filled; raise waiting to at least %d", c.Waiting, c.BatchGroups, c.BatchGroups)
	say(p.MaxStaleness < NoBound, "max_staleness=%d; it must be at least 0, or left out for no bound", p.MaxStaleness)
	say(p.MaxStaleness > mostFactor, "max_staleness=%d versions; it must be at most %d, or left out for no bound", p.MaxStaleness, mostFactor)
	say(p.MaxAttempts < 1, "max_attempts=%d; it must be at least 1", p.MaxAttempts)
	say(p.MaxAttempts > 255, "max_attempts=%d; it must be at most 255", p.MaxAttempts)
	say(p.MaxRequeues < 1, "max_requeues=%d; it must be at least 1", p.MaxRequeues)
	say(p.MaxRequeues > 254, "max_requeues=%d; it must be at most 254", p.MaxRequeues)
	say(p.MaxFailed < 0, "max_failed=%d; it must be at least 1", p.MaxFailed)
	say(p.Window < 1, "window=%d groups; it must be at least 1", p.Window)
	say(p.Window > mostGroups, "window=%d groups; it must be at most %d", p.Window, mostGroups)
	say(p.BatchesPerUpdate > mostFactor, "batches_per_update=%d; it must be at most %d", p.BatchesPerUpdate, mostFactor)
	say(p.BatchesPerUpdate < 1, "batches_per_update=%d; it must be at least 1", p.BatchesPerUpdate)
	say(p.Pace && p.MaxStaleness == NoBound, "pace has no bound to keep; give max_staleness")
	say(p.Last == LastNextEpoch && c.Source.Stream, "last_batch=next_epoch: a stream has no epochs; give short or drop")
	say(p.Pace && c.Unowned, "pace is for owned runs; leave it out with ownership=none")
	say(p.waits() && l.Completed > 0 && l.Retained > l.Completed, "retained=%d groups is above completed=%d: with order=windowed or pace a batch waits for certain groups, so every group needs a place; lower retained to %d or raise completed", l.Retained, l.Completed, l.Completed)
	say(p.Submission > ByGroup || p.Order > Freshest || p.Stale > StaleDrop || p.Full > FullEvict || p.Last > LastNextEpoch, "policy %+v has a value that does not exist", p)
	say(c.JoinWindow < 0 || c.CloseGrace < 0, "join_window=%s, close_grace=%s; neither can be negative", c.JoinWindow, c.CloseGrace)
	say(c.Owner == 0, "the owner's session is 0; it must be a random number")
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", leases.ErrConfig, strings.Join(problems, "; "))
	}
	return nil
}

func (c *Config) params() leases.Params {
	return leases.Params{Source: c.Source, GroupSize: c.GroupSize, Unowned: c.Unowned, NextEpoch: c.Policy.Last == LastNextEpoch}
}

// derive computes the limits that hold with slots sample slots attached. What is not given follows from what is:
//
//	executing = max(group_size, the workers' slots)
//	completed = batch_groups × (2 + prefetch): leased batches, and one that assembles; not above a given retained
//	retained  = completed + 2 × ceil(executing / group_size): as many groups again wait for their last sample
//
// With order=windowed or pace every retained group needs a place in the buffer: both are the sum, or what is given of them.
func (c *Config) derive(slots int64) Limits {
	l, gs := c.Limits, int64(c.GroupSize)
	if l.Executing == 0 {
		l.Executing = max(gs, slots)
	}
	completed := int64(c.BatchGroups) * int64(2+c.Prefetch)
	running := 2 * ((l.Executing + gs - 1) / gs)
	if c.Policy.waits() {
		places := completed + running
		if l.Completed+l.Retained > 0 {
			places = max(l.Completed, l.Retained)
		}
		if l.Completed == 0 {
			l.Completed = places
		}
		if l.Retained == 0 {
			l.Retained = places
		}
		return l
	}
	if l.Completed == 0 {
		l.Completed = completed
		if l.Retained > 0 {
			l.Completed = min(l.Completed, l.Retained)
		}
	}
	if l.Retained == 0 {
		l.Retained = l.Completed + running
	}
	return l
}

// relimit derives the limits anew when slots came or went.
func (s *Scheduler) relimit() {
	slots := int64(0)
	places := func(m *member) int64 {
		if m.worker.Slots == 0 {
			return 0
		}
		return max(int64(m.worker.Slots), int64(s.cfg.GroupSize))
	}
	for _, m := range s.workers {
		if m.uses == nil {
			slots += places(m)
		}
	}
	slots += s.resizePools(places)
	s.limits = s.cfg.derive(slots)
	if slots > 0 && !s.saidLimits {
		s.saidLimits = true
		s.log(Info, "limits", "executing", s.limits.Executing, "retained", s.limits.Retained, "completed", s.limits.Completed,
			"bytes", s.limits.Bytes, "given", fmt.Sprintf("%+v", s.cfg.Limits), "slots", slots)
	}
}
