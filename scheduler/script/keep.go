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
	for _, h := range kept {
		p.kept = append(slices.DeleteFunc(p.kept, func(o scheduler.Held) bool { return runOf(o.Receipt) == runOf(h.Receipt) }), h)
	}
	r.keep(p, kept)
}

// keep says what a process keeps.
func (r *Runner) keep(p *process, kept []scheduler.Held) {
	k := keeping{p: p, kept: slices.Clone(kept), fresh: map[leases.Handle]bool{}}
	for _, h := range kept {
		if a := r.count(r.owner); a.kept[h.Outcome.Handle] == (data{}) {
			k.fresh[h.Outcome.Handle] = true
			a.keep(p, h.Receipt, *h.Outcome)
		}
	}
	t := r.calls(p)
	r.keeping[t] = k
	r.owner.Kept(t, p.member.Session, k.kept)
}

// keeping is one word of what a process keeps.
type keeping struct {
	p     *process
	kept  []scheduler.Held
	fresh map[leases.Handle]bool // data that nobody had told the owner of
}

// answered takes what nobody needs from the process, unless somebody else has told the owner of it; the rest is the owner's to have freed.
func (k keeping) answered(r *Runner, from *scheduler.Scheduler, e scheduler.Answer) {
	unkept, _ := e.Value.(scheduler.Unkept)
	for _, h := range k.kept {
		if e.Err == nil && !slices.ContainsFunc(unkept, func(x leases.Receipt) bool { return runOf(x) == runOf(h.Receipt) }) {
			delete(r.count(from).charged, runOf(h.Receipt))
			continue
		}
		if e.Err == nil {
			k.p.kept = slices.DeleteFunc(k.p.kept, func(o scheduler.Held) bool { return runOf(o.Receipt) == runOf(h.Receipt) })
		}
		if k.fresh[h.Outcome.Handle] {
			delete(r.count(from).kept, h.Outcome.Handle)
		}
	}
}
