package script

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// settle carries effects out until there are none, and lets every trainer that is not manual answer its appends.
func (r *Runner) settle() {
	for r.owner != nil {
		effects := r.owner.Effects()
		if len(effects) == 0 {
			return
		}
		type ack struct {
			p     *process
			index uint64
		}
		var acks []ack
		for _, e := range effects {
			if text := r.carry(e); text != "" && !r.quiet {
				r.say("%s", text)
			}
			a, ok := e.(scheduler.Append)
			if !ok {
				continue
			}
			for _, s := range a.Sessions {
				if p := r.bySession(s); p != nil && !p.gone && !p.manual {
					acks = append(acks, ack{p, a.Entry.Index})
				}
			}
		}
		for _, k := range acks {
			r.owner.Appended(k.p.member.Session, k.index)
		}
	}
}

// put writes one entry into a trainer's log: an index that it has already replaces that entry and all after it.
func (p *process) put(e scheduler.Entry) {
	p.log = slices.DeleteFunc(p.log, func(o scheduler.Entry) bool { return o.Index >= e.Index })
	p.log = append(p.log, e)
}

// carry does what an effect asks of the processes and returns its line.
func (r *Runner) carry(e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.Grant:
		return r.grant(e)
	case scheduler.Cancel:
		return fmt.Sprintf("cancel %s %s", r.session(e.Session), r.execution(e.Receipt.Execution))
	case scheduler.Release:
		text := fmt.Sprintf("release %s %s", r.session(e.Holder), r.execution(e.Receipt.Execution))
		if p := r.bySession(e.Holder); p != nil {
			if h := p.holding(e.Receipt.Execution); h != nil && h.Receipt != e.Receipt {
				text += " (a receipt that was never granted)"
			}
			p.forget(e.Receipt)
		}
		return text
	case scheduler.Append:
		for _, s := range e.Sessions {
			p := r.bySession(s)
			switch {
			case p == nil || p.gone:
			case p.manual:
				p.queue = append(p.queue, e.Entry)
			default:
				p.put(e.Entry)
			}
		}
		if len(e.Sessions) == 0 {
			return fmt.Sprintf("append to nobody entry %d", e.Entry.Index)
		}
		return fmt.Sprintf("append %s entry %d", r.list(e.Sessions), e.Entry.Index)
	case scheduler.SetBase:
		for _, s := range e.Sessions {
			if p := r.bySession(s); p != nil {
				p.base = slices.Clone(e.State)
				p.log = slices.DeleteFunc(p.log, func(o scheduler.Entry) bool { return o.Index <= e.Index })
			}
		}
		return fmt.Sprintf("base %s rollout %d entry %d", r.list(e.Sessions), e.R, e.Index)
	case scheduler.Answer:
		r.answers[e.Ticket] = e
		if v, ok := e.Value.(scheduler.LeaseStatus); ok && v.State == scheduler.LeaseCommitted {
			r.step(v.Admission, v.Rollout)
		}
		return fmt.Sprintf("k%d: %s", e.Ticket, r.value(e))
	case scheduler.Committed:
		r.step(e.Admission, e.Rollout)
		return fmt.Sprintf("committed %s rollout %d %s", r.list(e.Sessions), e.Rollout, r.admission(e.Admission))
	case scheduler.Revoked:
		text := fmt.Sprintf("revoked %s rollout %d %s", r.list(e.Sessions), e.Rollout, r.admission(e.Admission))
		if e.Err != nil {
			text += ": " + r.error(e.Err)
		}
		return text
	case scheduler.Log:
		return r.logged(e)
	}
	return r.told(e)
}

// told are the effects that concern every process, or one process's end.
func (r *Runner) told(e scheduler.Effect) string {
	switch e := e.(type) {
	case scheduler.NewTerm:
		for _, p := range r.procs {
			if !p.gone {
				p.member.KnownTerm = e.Term
			}
		}
		return "term " + r.short(e.Term.String())
	case scheduler.NewTimeline:
		if r.undoing {
			for _, p := range r.procs {
				p.at = min(p.at, e.LastRollout)
				p.lineage = slices.DeleteFunc(p.lineage, func(s step) bool { return s.rollout > e.LastRollout })
			}
		}
		return fmt.Sprintf("timeline %s version %d last rollout %d", r.timeline(e.Timeline), e.Version, e.LastRollout)
	case scheduler.Announced:
		return fmt.Sprintf("announced version %d", e.Version)
	case scheduler.Expel:
		if p := r.bySession(e.Session); p != nil {
			p.gone = true
		}
		return fmt.Sprintf("expel %s: %s", r.session(e.Session), r.error(e.Err))
	case scheduler.Drained:
		return "drained " + r.session(e.Session)
	case scheduler.Ended:
		if e.Err == nil {
			return "ended"
		}
		return "ended: " + r.error(e.Err)
	}
	return fmt.Sprintf("unknown effect %T", e)
}

func (r *Runner) grant(e scheduler.Grant) string {
	x := e.Assignment.Receipt.Execution
	if !slices.ContainsFunc(r.executions, func(o scheduler.Assignment) bool { return o.Receipt.Execution == x }) {
		r.executions = append(r.executions, e.Assignment)
	}
	if p := r.bySession(e.Session); p != nil && !p.gone && p.holding(x) == nil {
		p.held = append(p.held, scheduler.Held{Receipt: e.Assignment.Receipt, Version: e.Assignment.Version})
	}
	a := e.Assignment
	return fmt.Sprintf("grant %s %s: group %d attempt %d row %d version %d", r.session(e.Session), r.execution(x), a.Receipt.Group, a.Receipt.Attempt, a.Row, a.Version)
}

// step is the optimizer step of the ranks that admitted, once they hear that their batch is committed: by the owner's
// word, or by the answer to a repeated commit.
func (r *Runner) step(admission uint64, rollout int64) {
	for _, p := range r.admitted[admission] {
		if p.gone || p.at >= rollout {
			continue
		}
		p.at = rollout
		made := step{rollout: rollout}
		for _, g := range r.given[admission].Groups {
			made.groups = append(made.groups, g.Receipt.Group)
		}
		p.lineage = append(p.lineage, made)
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
