package script

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// cmdPush gives prompts to a stream; the producer's sidecar keeps them until they are let go.
func (r *Runner) cmdPush(a *args) {
	p := r.find(a.word("a producer"))
	content, wait, size := a.number("content", 1), !a.flag("no-wait"), a.number("size", 0)
	var pushes []leases.Push
	for len(a.words) > 0 {
		pushes = append(pushes, r.pushOf(a.word("an id"), content, size))
	}
	r.push(p, pushes, wait)
}

func (r *Runner) pushOf(id string, content, size int64) leases.Push {
	rows := fmt.Sprintf("%s/%d", id, content)
	rows += strings.Repeat(" ", max(0, int(size)-len(rows)))
	one := leases.Push{ID: leases.NamePush([]byte(id)), Digest: [16]byte{byte(content)}, Rows: []byte(rows)}
	r.pushes[one.ID] = id
	return one
}

func (r *Runner) push(p *process, pushes []leases.Push, wait bool) {
	t := r.calls(p)
	p.pushed = append(p.pushed, pushes...)
	r.owner.Push(t, p.member.Session, pushes, wait)
	r.waits(t)
	if r.answers[t].Err != nil {
		p.pushed = p.pushed[:len(p.pushed)-len(pushes)]
	}
}

// pushAgain is what a sidecar does that has found its owner again.
func (r *Runner) pushAgain(p *process) {
	if len(p.pushed) > 0 {
		pushes := p.pushed
		p.pushed = nil
		r.push(p, pushes, true)
	}
	offers := p.offers
	p.offers = nil
	for _, one := range offers {
		r.offer(p, one.push, true)
	}
}

// offer is a group that a worker has made by itself, until its sidecar has heard what becomes of it.
type offer struct {
	ticket scheduler.Ticket
	push   leases.Push
	// version was announced when it came, unless its owner had not learned that.
	version int64
	known   bool
	// undone says that the run has gone back behind that version since.
	undone bool
}

func (p *process) offering(t scheduler.Ticket) bool {
	return slices.ContainsFunc(p.offers, func(o offer) bool { return o.ticket == t })
}

func (r *Runner) cmdOffer(a *args) {
	p := r.find(a.word("a worker"))
	content, wait, size := a.number("content", 1), !a.flag("no-wait"), a.number("size", 0)
	r.offer(p, r.pushOf(a.word("an id"), content, size), wait)
}

func (r *Runner) offer(p *process, push leases.Push, wait bool) {
	t, st := r.calls(p), r.owner.Stats()
	p.offers = append(p.offers, offer{ticket: t, push: push, version: st.Announced, known: st.Timeline != (leases.Timeline{})})
	r.owner.Offer(t, p.member.Session, push, wait)
	r.waits(t)
}

// offered counts what an owner grants by the answer to an offer, and sends that to the worker.
func (r *Runner) offered(from *scheduler.Scheduler, p *process, e scheduler.Answer) {
	if v, _ := e.Value.(scheduler.Offered); v.Assignment != nil {
		g := scheduler.Grant{Session: p.member.Session, Assignment: *v.Assignment}
		r.granted(g.Assignment)
		r.count(from).offered(g.Assignment)
		r.checkGrant(from, g, true)
		r.checkOffer(from, p, e.Ticket, g.Assignment)
	}
	if p.on == from {
		r.send(from, p.member.Session, e)
	}
}

// undoOffers marks what waits with data of later weights than those that the run has gone back to.
func (p *process) undoOffers(version int64) {
	for i := range p.offers {
		p.offers[i].undone = p.offers[i].undone || p.offers[i].known && p.offers[i].version > version
	}
}

// hearsOfOffer is what the worker's sidecar does with the answer to an offer.
func (p *process) hearsOfOffer(e scheduler.Answer, groupSize int) {
	at := slices.IndexFunc(p.offers, func(o offer) bool { return o.ticket == e.Ticket })
	if at < 0 {
		return
	}
	push := p.offers[at].push
	p.offers = slices.Delete(p.offers, at, at+1)
	v, ok := e.Value.(scheduler.Offered)
	if !ok {
		return
	}
	if len(v.Gone) == 0 {
		p.pushed = append(p.pushed, push)
	}
	if a := v.Assignment; a != nil {
		p.held = append(p.held, scheduler.Held{Receipt: a.Receipt, Version: a.Version, Done: groupSize})
	}
}

func (r *Runner) cmdEndStream(a *args) {
	p := r.find(a.word("a producer"))
	t := r.calls(p)
	r.owner.EndStream(t, p.member.Session)
	r.waits(t)
}

// letGo lets the producers forget what they need not keep.
func (r *Runner) letGo(ids []leases.PushID) string {
	var names []string
	for _, id := range ids {
		names = append(names, r.pushes[id])
		for _, p := range r.procs {
			p.pushed = slices.DeleteFunc(p.pushed, func(one leases.Push) bool { return one.ID == id })
		}
	}
	return "let go " + strings.Join(names, ",")
}

// prompt is what an execution was given of a stream, "" when it is of another source.
func (r *Runner) prompt(x leases.Receipt) string {
	i, known := r.places[runOf(x)]
	if !known || !r.cfg.Source.Stream {
		return ""
	}
	return row(r.executions[i])
}

// row names a group's prompt.
func row(a scheduler.Assignment) string {
	if a.Pushed != nil {
		return strings.TrimSpace(string(a.Pushed))
	}
	return fmt.Sprint(a.Row)
}
