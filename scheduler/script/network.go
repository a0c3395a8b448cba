package script

import (
	"slices"

	"outrider/leases"
	"outrider/scheduler"
)

// owners are the lives of the owner that run: the present one, and one that it has replaced.
func (r *Runner) owners() []*scheduler.Scheduler {
	var out []*scheduler.Scheduler
	if r.former != nil {
		out = append(out, r.former)
	}
	if r.owner != nil && r.owner != r.former {
		out = append(out, r.owner)
	}
	if r.present != nil && r.present != r.owner && r.present != r.former {
		out = append(out, r.present)
	}
	return out
}

// runFormer plays the rest of the line for the life that was replaced.
func (r *Runner) runFormer(a *args) {
	if r.former == nil {
		panic(usage("no former owner runs"))
	}
	a.command = a.word("a command")
	r.present, r.owner = r.owner, r.former
	defer func() { r.owner, r.present = r.present, nil }()
	r.run(a)
	r.settle()
}

// cut ends every connection to a life of the owner: what it sent to slow processes and they have not got is lost.
func (r *Runner) cut(o *scheduler.Scheduler) {
	for _, p := range r.procs {
		if o != nil && p.on == o {
			p.on, p.inbox, p.words = nil, nil, nil
		}
	}
}

// send gives a process what its owner has for it, or leaves it on the way when the process is slow.
func (r *Runner) send(from *scheduler.Scheduler, to leases.Session, e scheduler.Effect) {
	p := r.bySession(to)
	switch {
	case p == nil:
	case !p.slow:
		r.arrive(p, e)
	case p.on == from:
		p.inbox = append(p.inbox, e)
	}
}

// arrive is what the process's sidecar does with a message of its owner.
func (r *Runner) arrive(p *process, e scheduler.Effect) {
	switch e := e.(type) {
	case scheduler.Grant:
		if x := e.Assignment.Receipt; !p.gone && p.holding(x.Execution) == nil {
			p.held = append(p.held, scheduler.Held{Receipt: x, Version: e.Assignment.Version})
		}
	case scheduler.StageGrant:
		if !p.gone {
			p.held = append(p.held, scheduler.Held{Receipt: e.Receipt})
		}
	case scheduler.Carried:
		for _, c := range e.Receipts {
			r.rename(p, c)
		}
	case scheduler.Cancel:
		p.stop[e.Receipt.Execution] = true
	case scheduler.Release:
		p.forget(e.Receipt)
	case scheduler.Append:
		switch {
		case p.gone:
		case p.manual:
			p.queue = append(p.queue, e)
		default:
			r.put(p, e)
		}
	case scheduler.Answer:
		p.hearsOfOffer(e, r.cfg.GroupSize)
	case scheduler.SetBase:
		if p.copied {
			p.log, p.copied = nil, false
		}
		p.base = slices.Clone(e.State)
		p.log = slices.DeleteFunc(p.log, func(o scheduler.Entry) bool { return o.Index <= e.Index })
		for _, entry := range e.Log {
			r.put(p, scheduler.Append{Entry: entry})
		}
	}
}

// cmdDeliver brings a slow process the next messages of its owner. A trainer's log answers each entry that it takes.
func (r *Runner) cmdDeliver(a *args) {
	p := r.find(a.word("a process"))
	unsaid := a.flag("unsaid")
	for n := a.number("n", int64(len(p.inbox))); n > 0 && len(p.inbox) > 0; n-- {
		e := p.inbox[0]
		p.inbox = p.inbox[1:]
		r.arrive(p, e)
		if to, index := logs(e); len(to) > 0 {
			p.words = append(p.words, index)
		}
		if !unsaid {
			r.sayWords(p)
		}
	}
}

// sayWords tells the owner of the entries that a trainer's log has.
func (r *Runner) sayWords(p *process) {
	words := p.words
	p.words = nil
	for _, index := range words {
		if p.on != nil {
			p.on.Appended(p.member.Session, index)
			r.settle()
		}
	}
}

// rename gives an execution the receipt by which it goes from here on.
func (r *Runner) rename(p *process, to leases.Receipt) {
	if h := p.holding(to.Execution); h != nil && h.Receipt.Worker == to.Worker { // lives of the owner number from 1
		h.Receipt = to
	}
	for i := range p.kept {
		if runOf(p.kept[i].Receipt) == runOf(to) {
			p.kept[i].Receipt = to
		}
	}
	if i, known := r.places[runOf(to)]; known {
		r.executions[i].Receipt = to
	}
}

// granted gives an execution its short name.
func (r *Runner) granted(a scheduler.Assignment) {
	if i, known := r.places[runOf(a.Receipt)]; known {
		r.executions[i] = a // it may have been carried over meanwhile
	} else {
		r.places[runOf(a.Receipt)], r.byID[a.Receipt.Execution] = len(r.executions), len(r.executions)
		r.executions = append(r.executions, a)
	}
}

// answered keeps the answer to a waiting call, unless the connection that it was made on is cut.
func (r *Runner) answered(from *scheduler.Scheduler, e scheduler.Answer) {
	if r.asked[e.Ticket] != from {
		r.broken("k%d is answered twice, or was never asked", e.Ticket)
	}
	delete(r.asked, e.Ticket)
	r.checkCommit(from, e)
	r.count(from).credited(e)
	if k, ok := r.keeping[e.Ticket]; ok { // what the owner knows is settled, also when the answer is lost
		delete(r.keeping, e.Ticket)
		k.answered(r, from, e)
	}
	caller := r.callers[e.Ticket]
	if p := caller.p; p != nil && p.offering(e.Ticket) {
		r.offered(from, p, e)
	}
	if p := caller.p; p != nil && p.slow && (p.on != from || p.connections != caller.connection) {
		return
	}
	r.answers[e.Ticket] = e
	switch v := e.Value.(type) {
	case scheduler.Lease:
		r.holders[v.Admission] = caller.p
		r.checkLease(from, v)
	case scheduler.LeaseStatus:
		if v.State == scheduler.LeaseCommitted {
			r.step(v.Admission, v.Rollout, true)
		}
	case scheduler.RewindReport:
		r.backTo(e.Ticket, v.Rollout)
	case scheduler.UpdateStart:
		r.backTo(e.Ticket, v.Rollout)
	}
}

// backTo puts the weights of every trainer back, when that is what the call was for.
func (r *Runner) backTo(t scheduler.Ticket, rollout int64) {
	if !r.backs[t] {
		return
	}
	for _, p := range r.procs {
		p.back(rollout)
		r.saysAgain(p)
	}
}

// back takes what a rank has trained after a rollout out of its weights.
func (p *process) back(rollout int64) {
	p.at, p.moved = min(p.at, rollout), p.moved || p.at > rollout
	p.lineage = slices.DeleteFunc(p.lineage, func(s step) bool { return s.rollout > rollout })
}

// committed is the owner's word to the ranks that admitted. A slow one's job steps when its commit is answered.
func (r *Runner) committed(e scheduler.Committed) { r.step(e.Admission, e.Rollout, false) }
