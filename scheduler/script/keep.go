package script

import (
	"slices"

	"outrider/leases"
	"outrider/scheduler"
)

// cmdKept gives a process the data of finished executions of another beside it, and lets it say so.
func (r *Runner) cmdKept(a *args) {
	p := r.find(a.word("a process"))
	var kept []scheduler.Held
	for _, x := range r.receipts(a) {
		w := r.bySession(x.Receipt.Worker)
		if w == nil || w.gone || w.member.Host != p.member.Host || w.holding(x.Receipt.Execution) == nil || w.holding(x.Receipt.Execution).Outcome == nil {
			r.say("%s is not there", r.receipt(x.Receipt))
			continue
		}
		kept = append(kept, *w.holding(x.Receipt.Execution))
	}
	for i, h := range kept {
		// What is there already is not taken again, and is spoken of by the name that it has there.
		if there := slices.IndexFunc(p.kept, sameRun(h)); there >= 0 {
			kept[i] = p.kept[there]
		} else {
			p.kept = append(p.kept, h)
		}
	}
	r.keep(p, kept)
}

// sameRun reports for others whether they are of one execution with h, by whatever name.
func sameRun(h scheduler.Held) func(scheduler.Held) bool {
	return func(o scheduler.Held) bool { return runOf(o.Receipt) == runOf(h.Receipt) }
}

// keep says what a process keeps. Until the owner has answered, data that nobody else has told it of counts by such words alone.
func (r *Runner) keep(p *process, kept []scheduler.Held) {
	t, a := r.calls(p), r.count(r.owner)
	for _, h := range kept {
		d, told := a.kept[h.Outcome.Handle]
		if !told {
			a.keep(p, h.Receipt, *h.Outcome)
			d = a.kept[h.Outcome.Handle]
		}
		if !told || len(d.words) > 0 {
			d.words = append(slices.Clip(d.words), t)
			a.kept[h.Outcome.Handle] = d
		}
	}
	k := keeping{p: p, kept: slices.Clone(kept)}
	r.keeping[t] = k
	r.owner.Kept(t, p.member.Session, k.kept)
}

// keeping is one word of what a process keeps.
type keeping struct {
	p    *process
	kept []scheduler.Held
}

// speaks says whether a process waits for the answer to another word of what it keeps.
func (r *Runner) speaks(p *process, h scheduler.Held) bool {
	for t, k := range r.keeping {
		if k.p == p && r.asked[t] == p.on && slices.ContainsFunc(k.kept, sameRun(h)) {
			return true
		}
	}
	return false
}

// answered takes what nobody needs from the process, unless somebody else has told the owner of it; the rest is the owner's to have freed.
func (k keeping) answered(r *Runner, from *scheduler.Scheduler, e scheduler.Answer) {
	unkept, _ := e.Value.(scheduler.Unkept)
	a := r.count(from)
	for _, h := range k.kept {
		d := a.kept[h.Outcome.Handle]
		if e.Err == nil && !slices.ContainsFunc(unkept, func(x leases.Receipt) bool { return runOf(x) == runOf(h.Receipt) }) {
			delete(a.charged, runOf(h.Receipt))
			if slices.Contains(d.words, e.Ticket) {
				d.words = nil
				a.kept[h.Outcome.Handle] = d
			}
			continue
		}
		if e.Err == nil && !r.speaks(k.p, h) { // one that came again meanwhile is spoken of by a later word
			k.p.kept = slices.DeleteFunc(k.p.kept, sameRun(h))
		}
		if slices.Contains(d.words, e.Ticket) {
			d.words = slices.DeleteFunc(slices.Clone(d.words), func(t scheduler.Ticket) bool { return t == e.Ticket })
			a.kept[h.Outcome.Handle] = d
			if len(d.words) == 0 {
				delete(a.kept, h.Outcome.Handle)
			}
		}
	}
}
