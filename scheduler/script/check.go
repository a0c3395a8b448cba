package script

import (
	"bytes"
	"errors"
	"slices"

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
		if !st.Unowned && r.cfg.Limits.Retained > 0 && st.Retained > st.Limits.Retained+st.Adopted {
			r.broken("%d groups are retained, retained=%d", st.Retained, st.Limits.Retained)
		}
		r.count(o).check(o, st)
		r.count(o).checkTimes(o, st)
	}
}

// checkSize holds a lease against the size that was asked for: enough, and no group more than that takes.
func (r *Runner) checkSize(lease scheduler.Lease) {
	c := r.cfg
	want, have, largest := int64(c.BatchGroups), int64(len(lease.Groups)), int64(1)
	if c.BatchSamples+c.BatchTokens > 0 {
		want, have, largest = c.BatchSamples+c.BatchTokens, 0, 0
		for _, g := range lease.Groups {
			n := int64(g.Samples)
			if c.BatchTokens > 0 {
				n = g.Tokens
			}
			have, largest = have+n, max(largest, n)
		}
	}
	if c.BatchGroups > 0 && len(lease.Groups) > c.BatchGroups || have < want && !lease.Short || have-largest >= want {
		r.broken("%s has %d groups of %d, batch=%d of %d", r.admission(lease.Admission), len(lease.Groups), have, c.BatchGroups, want)
	}
}

// checkLease holds a lease at the moment that it is given against what was let go and against the staleness bound.
func (r *Runner) checkLease(from *scheduler.Scheduler, lease scheduler.Lease) {
	bound := r.cfg.Policy.MaxStaleness
	r.checkSize(lease)
	for i, g := range lease.Groups {
		if r.released[letGo{from, g.Receipt}] {
			r.broken("%s is leased, and its data was let go", r.receipt(g.Receipt))
		}
		if bound != scheduler.NoBound && lease.Announced-g.MinVersion > bound {
			r.broken("group %d is leased %d versions late, the bound is %d", g.Receipt.Group, lease.Announced-g.MinVersion, bound)
		}
		if oldest, known := r.oldest[runOf(g.Receipt)]; known && oldest != g.MinVersion {
			r.broken("group %d is leased as of version %d, its worker reported version %d", g.Receipt.Group, g.MinVersion, oldest)
		}
		if i > 0 && lease.Groups[i-1].Receipt.Group >= g.Receipt.Group {
			r.broken("the groups of %s are not in order", r.admission(lease.Admission))
		}
	}
}

// checkCommit holds that a commit which is said to have failed does not count, and that none fails for want of admissions which are
// there.
func (r *Runner) checkCommit(from *scheduler.Scheduler, e scheduler.Answer) {
	admission, ok := r.commits[e.Ticket]
	if !ok || e.Err == nil {
		return
	}
	if status, err := from.LeaseStatus(admission); err == nil && status.State == scheduler.LeaseCommitted {
		r.broken("the commit of %s failed (%v), and it is committed", r.admission(admission), e.Err)
	}
	if errors.Is(e.Err, leases.ErrNotAdmitted) && r.admittedByAll(from, admission) {
		r.broken("every rank has admitted %s as it is published, and its commit says: %v", r.admission(admission), e.Err)
	}
}

// admittedByAll says that every rank that is required has admitted what was published last, in the session in which it is attached.
func (r *Runner) admittedByAll(from *scheduler.Scheduler, admission uint64) bool {
	pub := r.pubs[admission]
	for _, role := range pub.Request.Roles {
		for i := range role.WorldSize {
			word, said := r.admissionsOf[admission][leases.Rank{Role: role.Role, Rank: i}]
			if p := r.bySession(word.Session); !said || word.Digest != pub.Digest || p == nil || p.gone || p.on != from || p.member.Session != word.Session {
				return false
			}
		}
	}
	return len(pub.Request.Roles) > 0
}

// checkAnswered holds that a life of the owner that ends leaves no call without an answer.
func (r *Runner) checkAnswered(from *scheduler.Scheduler, why error) {
	if errors.Is(why, leases.ErrEndOfRun) {
		return // the run is over, its owner goes on
	}
	for t, by := range r.asked {
		if by == from {
			r.broken("k%d is never answered", t)
		}
	}
}

// checkState holds that a state starts a ledger that gives the same state.
func (r *Runner) checkState(b []byte, rollout int64) {
	if r.cfg.Unowned {
		return
	}
	l, err := leases.New(leases.Params{Source: r.cfg.Source, GroupSize: r.cfg.GroupSize, NextEpoch: r.more() > 0}, leases.Term{Session: 1}, b)
	if err != nil {
		r.broken("the state of rollout %d: %v", rollout, err)
		return
	}
	if again, err := l.State(rollout); err != nil || !bytes.Equal(b, again) {
		r.broken("the state of rollout %d starts a ledger that gives another: %v", rollout, err)
	}
}

// all is how many groups leave the source of a run that ends: at least, and at most.
func (r *Runner) all() (least, most int64) {
	switch {
	case r.cfg.Source.Pulled:
		return r.supplied, r.supplied
	case r.cfg.Source.Stream:
		return int64(len(r.pushes)), int64(len(r.pushes))
	}
	n := r.cfg.Source.Len * r.cfg.Source.Epochs
	return n, n + r.more()
}

// cmdProof holds a trainer's own lineage against the books, between two steps; with over, of a run that has ended.
func (r *Runner) cmdProof(a *args) {
	p := r.find(a.word("a trainer"))
	over := a.flag("over")
	st := r.owner.Stats()
	in := map[int64]bool{}
	for _, s := range p.lineage {
		for _, g := range s.groups {
			in[g] = true
		}
	}
	if next, err := r.owner.NextRollout(); err != nil || next != p.at+1 {
		r.broken("the next rollout is %d (%v), the weights of %s are of rollout %d", next, err, p.name, p.at)
	}
	if n := st.Books.Acknowledged.Groups; n != int64(len(in)) {
		r.broken("%d groups are acknowledged, %d are in the weights of %s", n, len(in), p.name)
	}
	if over {
		if least, most := r.all(); st.Books.Reserved.Groups < least || st.Books.Reserved.Groups > most || st.Retained > 0 {
			r.broken("of %d groups %d have left the source and %d have not settled", least, st.Books.Reserved.Groups, st.Retained)
		}
	}
	r.say("%d groups, each once, as the books say", len(in))
}

// cmdStuck is the verdict over a run in which everybody has done what there was to do: it must have ended. Else it says
// what waits for what.
func (r *Runner) cmdStuck(*args) {
	st := r.owner.Stats()
	if least, _ := r.all(); st.Books.Reserved.Groups == least && st.Retained == 0 {
		r.say("over")
		return
	}
	r.broken("stuck: %d takes wait, %d holds stand, %d leases are open", st.WaitingTakes, st.Holds, st.OpenLeases)
	r.cmdStats(nil)
	for _, w := range r.owner.MemberStats() {
		r.say("%s executes %d of %d samples, %d of them stuck; confirmed %d, current %t", r.session(w.Session), w.Executing, w.Slots, w.Stuck, w.Confirmed, w.Current)
	}
	r.say("recovering %t, closing %t, %d trainers, %d of %d engines unconfirmed", st.Recovering, st.Closing, st.Trainers, st.Unconfirmed, st.Engines)
}

// checkOffer holds what an offer is granted against the call: its own prompt, in the timeline and as of the version in which it came,
// and nothing while a hold stands or no trainer can log it.
func (r *Runner) checkOffer(from *scheduler.Scheduler, p *process, t scheduler.Ticket, a scheduler.Assignment) {
	at := slices.IndexFunc(p.offers, func(o offer) bool { return o.ticket == t })
	one, st := p.offers[at], from.Stats()
	switch {
	case !bytes.Equal(a.Pushed, one.push.Rows):
		r.broken("k%d offers %s and is granted %s", t, r.pushes[one.push.ID], row(a))
	case one.undone || a.Receipt.Timeline != st.Timeline:
		r.broken("%s is granted to data of weights that the run has gone back from", r.receipt(a.Receipt))
	case one.known && a.Version != one.version:
		r.broken("%s counts as of version %d, its offer came at version %d", r.receipt(a.Receipt), a.Version, one.version)
	case st.Holds > 0 || st.Trainers == 0:
		r.broken("%s is granted with %d holds and %d trainers", r.receipt(a.Receipt), st.Holds, st.Trainers)
	}
}

// checkLineage holds that a step trains no group, and no prompt under another number, that is in the weights already.
func (r *Runner) checkLineage(p *process) {
	in, pushed := map[int64]int64{}, map[string]int64{}
	for _, s := range p.lineage {
		for _, prompt := range s.prompts {
			if before, twice := pushed[prompt]; twice && prompt != "" {
				r.broken("prompt %s is in the weights of %s twice, by rollouts %d and %d", prompt, p.name, before, s.rollout)
			}
			pushed[prompt] = s.rollout
		}
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
