package script

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// settle carries effects out until there are none, and lets every trainer that is not manual or slow answer its appends.
func (r *Runner) settle() {
	for _, o := range r.owners() {
		o.Advance(r.clock)
	}
	for again := true; again; {
		again = false
		for _, o := range r.owners() {
			if effects := o.Effects(); len(effects) > 0 {
				again = true
				r.carryAll(o, effects)
			}
		}
	}
}

func (r *Runner) carryAll(from *scheduler.Scheduler, effects []scheduler.Effect) {
	type ack struct {
		p     *process
		index uint64
	}
	var acks []ack
	for _, e := range effects {
		if text := r.carry(from, e); text != "" && !r.quiet {
			if from == r.former {
				text = "former: " + text
			}
			r.say("%s", text)
		}
		to, index := logs(e)
		for _, s := range to {
			if p := r.bySession(s); p != nil && !p.gone && !p.manual && !p.slow {
				acks = append(acks, ack{p, index})
			}
		}
	}
	for _, k := range acks {
		from.Appended(k.p.member.Session, k.index)
	}
}

// logs says which trainers' logs have everything up to an index by an effect; none by most.
func logs(e scheduler.Effect) (to []leases.Session, index uint64) {
	switch e := e.(type) {
	case scheduler.Append:
		return e.Sessions, e.Entry.Index
	case scheduler.SetBase:
		return e.Sessions, e.Last()
	}
	return nil, 0
}

// put writes one entry into a trainer's log: an index that it has already replaces that entry and all after it.
// One that it decides alone lets it step at once.
func (r *Runner) put(p *process, e scheduler.Append) {
	p.log = slices.DeleteFunc(p.log, func(o scheduler.Entry) bool { return o.Index >= e.Entry.Index })
	p.log = append(p.log, e.Entry)
	if e.Decides != 0 {
		r.step(e.Decides, r.given[e.Decides].Rollout, true)
	}
}

// carry brings an effect to the processes that it is for, and returns its line.
func (r *Runner) carry(from *scheduler.Scheduler, e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.Grant:
		r.granted(e.Assignment)
		r.checkGrant(from, e, false)
		r.send(from, e.Session, e)
		a := e.Assignment
		return fmt.Sprintf("grant %s %s: group %d attempt %d row %s version %d", r.session(e.Session), r.receipt(a.Receipt), a.Receipt.Group, a.Receipt.Attempt, row(a), a.Version)
	case scheduler.StageGrant:
		r.granted(scheduler.Assignment{Receipt: e.Receipt, Row: e.Row, GroupSize: r.cfg.GroupSize, Promise: scheduler.NoPromise})
		r.send(from, e.Session, e)
		return fmt.Sprintf("stage %s %s: group %d attempt %d %s, %d segments", r.session(e.Session), r.receipt(e.Receipt), e.Receipt.Group, e.Receipt.Attempt, e.Stage, len(e.Data))
	case scheduler.Carried:
		r.count(from).carried(e.Receipts)
		r.send(from, e.Session, e)
		var names []string
		for _, c := range e.Receipts {
			names = append(names, r.receipt(c))
		}
		return fmt.Sprintf("carried %s %s", r.session(e.Session), strings.Join(names, ","))
	case scheduler.KeepBy:
		return fmt.Sprintf("keep %s by %s", r.session(e.Session), r.session(e.Keeper))
	case scheduler.Cancel:
		r.count(from).cancelled(e.Receipt)
		r.send(from, e.Session, e)
		return fmt.Sprintf("cancel %s %s", r.session(e.Session), r.receipt(e.Receipt))
	case scheduler.Release:
		text := fmt.Sprintf("release %s %s", r.session(e.Holder), r.receipt(e.Receipt))
		if p := r.bySession(e.Holder); p != nil {
			if p.on == from { // else it keeps what it has, and may bring it again
				r.released[letGo{from, e.Receipt}] = true
			}
			if h := p.holding(e.Receipt.Execution); h != nil && h.Receipt != e.Receipt {
				text += " (a receipt that was never granted)"
			}
		}
		if d, ok := r.count(from).released(e.Receipt, e.Handle); ok && r.frees {
			from.BytesReleased(d.host, d.bytes)
		}
		for _, p := range r.procs {
			if len(p.kept) > 0 && p.on == from {
				p.kept = slices.DeleteFunc(p.kept, func(h scheduler.Held) bool { return h.Receipt == e.Receipt })
			}
		}
		r.send(from, e.Holder, e)
		return text
	case scheduler.Append:
		for _, s := range e.Sessions {
			r.send(from, s, e)
		}
		if len(e.Sessions) == 0 {
			return fmt.Sprintf("append to nobody entry %d", e.Entry.Index)
		}
		return fmt.Sprintf("append %s entry %d", r.list(e.Sessions), e.Entry.Index)
	case scheduler.SetBase:
		for _, s := range e.Sessions {
			r.send(from, s, e)
		}
		text := fmt.Sprintf("base %s rollout %d entry %d", r.list(e.Sessions), e.R, e.Index)
		if n := len(e.Log); n > 0 {
			text += fmt.Sprintf(", with entries %d to %d", e.Log[0].Index, e.Log[n-1].Index)
		}
		return text
	case scheduler.Answer:
		r.answered(from, e)
		return fmt.Sprintf("k%d: %s", e.Ticket, r.value(e))
	case scheduler.Committed:
		r.committed(e)
		return fmt.Sprintf("committed %s rollout %d %s", r.list(e.Sessions), e.Rollout, r.admission(e.Admission))
	case scheduler.Revoked:
		text := fmt.Sprintf("revoked %s rollout %d %s", r.list(e.Sessions), e.Rollout, r.admission(e.Admission))
		if e.Err != nil {
			text += ": " + r.error(e.Err)
		}
		return text
	case scheduler.Pull:
		return r.supply(from).pulled(from, e)
	case scheduler.GiveBack:
		return r.supply(from).gaveBack(from, e)
	case scheduler.Log:
		if e.Level == scheduler.Error {
			r.broken("%s", r.logged(e))
		}
		return r.logged(e)
	}
	return r.told(from, e)
}

// told are the effects that concern every process, or one process's end.
func (r *Runner) told(from *scheduler.Scheduler, e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.NewTerm:
		for _, p := range r.procs {
			if !p.gone && (!p.slow || p.on == from) {
				p.member.KnownTerm = e.Term
			}
		}
		return "term " + r.short(e.Term.String())
	case scheduler.NewTimeline:
		for _, p := range r.procs {
			if p.member.Trainer != nil && p.on == from {
				p.unsaid = p.unsaid || p.at > e.LastRollout
				r.saysAgain(p)
			}
			if p.on == from {
				p.undoOffers(e.Version)
			}
		}
		return fmt.Sprintf("timeline %s version %d last rollout %d", r.timeline(e.Timeline), e.Version, e.LastRollout)
	case scheduler.Announced:
		return fmt.Sprintf("announced version %d", e.Version)
	case scheduler.Expel:
		if p := r.bySession(e.Session); p != nil && (!p.slow || p.on == from) {
			p.gone, p.on = true, nil
		}
		return fmt.Sprintf("expel %s: %s", r.session(e.Session), r.error(e.Err))
	case scheduler.LetGo:
		return r.letGo(e.IDs)
	case scheduler.Drained:
		return "drained " + r.session(e.Session)
	case scheduler.Ended:
		r.count(from).ended(e.Err)
		r.checkAnswered(from, e.Err)
		if e.Err == nil {
			return "ended"
		}
		return "ended: " + r.error(e.Err)
	}
	return fmt.Sprintf("unknown effect %T", e)
}

// step is the optimizer step of the ranks that admitted, once they hear that their batch is committed: by the owner's
// word, or by the answer to a commit.
func (r *Runner) step(admission uint64, rollout int64, slow bool) {
	for _, p := range r.admitted[admission] {
		if p.gone || p.at >= rollout || p.slow && !slow {
			continue
		}
		p.at, p.moved = rollout, true
		made := step{rollout: rollout}
		for _, g := range r.given[admission].Groups {
			made.groups = append(made.groups, g.Receipt.Group)
			made.prompts = append(made.prompts, r.prompt(g.Receipt))
		}
		p.lineage = append(p.lineage, made)
		r.checkLineage(p)
	}
}

func (r *Runner) logged(e scheduler.Log) string {
	level := [...]string{"info", "warn", "error"}[e.Level]
	if e.Level == scheduler.Info && !r.infos {
		return ""
	}
	var text strings.Builder
	text.WriteString(level + ": " + e.Msg)
	for i := 0; i+1 < len(e.KV); i += 2 {
		v := e.KV[i+1]
		switch id := v.(type) {
		case leases.Session:
			v = r.session(id)
		case uint64:
			if e.KV[i] == "admission" {
				v = r.admission(id)
			}
		}
		fmt.Fprintf(&text, " %s=%v", e.KV[i], v)
	}
	return r.short(text.String())
}
