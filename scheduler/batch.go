package scheduler

import (
	"fmt"

	"outrider/leases"
)

// batch is how much one lease is to have: so many groups or, where the size is given in samples or tokens, as few groups as
// reach it, so many at most.
func (c *Config) batch() leases.Tally {
	return leases.Tally{Groups: int64(c.BatchGroups), Samples: c.BatchSamples, Tokens: c.BatchTokens}
}

// full reports whether a lease that is to have want needs nothing more when it has have.
func full(have, want leases.Tally) bool { return have.Groups >= want.Groups || reached(have, want) }

// reached reports whether have is of the size that was asked for, whatever its number of groups may be at most.
func reached(have, want leases.Tally) bool {
	switch {
	case want.Samples > 0:
		return have.Samples >= want.Samples
	case want.Tokens > 0:
		return have.Tokens >= want.Tokens
	}
	return have.Groups >= want.Groups
}

// left is what have lacks of want. It must lack something: a size in samples or tokens that is not wanted stays 0.
func left(have, want leases.Tally) leases.Tally {
	out := leases.Tally{Groups: want.Groups - have.Groups}
	if want.Samples > 0 {
		out.Samples = want.Samples - have.Samples
	}
	if want.Tokens > 0 {
		out.Tokens = want.Tokens - have.Tokens
	}
	return out
}

func tally(groups []*leases.Group) leases.Tally {
	var out leases.Tally
	for _, g := range groups {
		out = out.Plus(g.Tally())
	}
	return out
}

// has says how far the buffer fills a waiting take.
func (s *Scheduler) has(t *take) string {
	groups := fmt.Sprintf("%d of %d groups", min(s.buffer.tally.Groups, t.want.Groups), t.want.Groups)
	switch {
	case t.want.Samples > 0:
		return fmt.Sprintf("%d of %d samples in %s at most", min(s.buffer.tally.Samples, t.want.Samples), t.want.Samples, groups)
	case t.want.Tokens > 0:
		return fmt.Sprintf("%d of %d tokens in %s at most", min(s.buffer.tally.Tokens, t.want.Tokens), t.want.Tokens, groups)
	}
	return groups
}

// topUp lets a source that is dry go on beyond its end for what the last batch lacks, and reports whether it does.
func (s *Scheduler) topUp(t *take) bool {
	lacks := left(s.buffer.tally, t.want)
	n := lacks.Groups
	if lacks.Samples > 0 {
		n = min(n, (lacks.Samples+int64(s.cfg.GroupSize)-1)/int64(s.cfg.GroupSize))
	}
	if lacks.Tokens > 0 {
		n = 1 // how many it takes shows when they are there
	}
	if n = s.ledger.Extend(n); n == 0 {
		return false
	}
	s.log(Info, "the last batch is filled from the next epoch", "groups", n, "rollout", t.rollout)
	return true
}
