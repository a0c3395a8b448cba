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
		if w == nil || w.holding(x.Receipt.Execution) == nil || w.holding(x.Receipt.Execution).Outcome == nil {
			r.say("%s is not there", r.receipt(x.Receipt))
			continue
		}
		kept = append(kept, *w.holding(x.Receipt.Execution))
	}
	for _, h := range kept {
		p.kept = append(slices.DeleteFunc(p.kept, func(o scheduler.Held) bool { return runOf(o.Receipt) == runOf(h.Receipt) }), h)
	}
	r.keep(p, kept)
}

// keep says what a process keeps.
func (r *Runner) keep(p *process, kept []scheduler.Held) {
	t := r.calls(p)
	r.keeping[t] = keeping{p, kept}
	r.owner.Kept(t, p.member.Session, slices.Clone(kept))
}

// keeping is one word of what a process keeps.
type keeping struct {
	p    *process
	kept []scheduler.Held
}

// answered takes what nobody needs from the process; the rest is the owner's to have freed.
func (k keeping) answered(r *Runner, from *scheduler.Scheduler, unkept scheduler.Unkept) {
	for _, h := range k.kept {
		if slices.ContainsFunc(unkept, func(x leases.Receipt) bool { return runOf(x) == runOf(h.Receipt) }) {
			k.p.kept = slices.DeleteFunc(k.p.kept, func(o scheduler.Held) bool { return runOf(o.Receipt) == runOf(h.Receipt) })
		} else if !r.released[letGo{from, h.Receipt}] {
			r.count(from).keep(k.p, h.Receipt, *h.Outcome)
		}
	}
}
