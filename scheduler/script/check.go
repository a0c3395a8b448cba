package script

import (
	"outrider/leases"
	"outrider/scheduler"
)

// broken says that a promise does not hold. It is in the text, so that no expectation can hide it, and counted.
func (r *Runner) broken(format string, v ...any) {
	r.breaks++
	r.say("BROKEN: "+format, v...)
}

// Broken counts the promises that did not hold so far.
func (r *Runner) Broken() int { return r.breaks }

// check holds what every event must leave as it is, from what can be seen without the owner's own memory. The owner's
// recount (Verify) is on as well.
func (r *Runner) check() {
	for _, o := range r.owners() {
		st := o.Stats()
		if !st.Books.Closed() {
			r.broken("the books do not close: %s", books(st.Books))
		}
		if st.Retained != st.Books.Live.Groups {
			r.broken("%d groups are retained, the books count %d live", st.Retained, st.Books.Live.Groups)
		}
		if !st.Unowned && st.Buffered > st.Limits.Completed+st.Adopted && r.cfg.Limits.Completed > 0 {
			r.broken("%d groups are buffered or leased, completed=%d", st.Buffered, st.Limits.Completed)
		}
	}
}

// checkLease holds a lease at the moment that it is given against what was let go and against the staleness bound.
func (r *Runner) checkLease(from *scheduler.Scheduler, lease scheduler.Lease) {
	bound := r.cfg.Policy.MaxStaleness
	for i, g := range lease.Groups {
		if r.released[letGo{from, g.Receipt}] {
			r.broken("%s is leased, and its data was let go", r.execution(g.Receipt.Execution))
		}
		if bound != scheduler.NoBound && lease.Announced-g.MinVersion > bound {
			r.broken("group %d is leased %d versions late, the bound is %d", g.Receipt.Group, lease.Announced-g.MinVersion, bound)
		}
		if i > 0 && lease.Groups[i-1].Receipt.Group >= g.Receipt.Group {
			r.broken("the groups of %s are not in order", r.admission(lease.Admission))
		}
	}
}

// checkLineage holds that a step trains no group that is in the weights already.
func (r *Runner) checkLineage(p *process) {
	in := map[int64]int64{}
	for _, s := range p.lineage {
		for _, g := range s.groups {
			if before, twice := in[g]; twice {
				r.broken("group %d is in the weights of %s twice, by rollouts %d and %d", g, p.name, before, s.rollout)
			}
			in[g] = s.rollout
		}
	}
}

// letGo is data that one life of the owner has given up. A later life may find it with its worker still, and adopt it.
type letGo struct {
	by      *scheduler.Scheduler
	receipt leases.Receipt
}
