package script

import (
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

func (r *Runner) cmdTake(a *args) {
	p := r.find(a.word("a session"))
	t := r.calls(p)
	r.owner.Take(t, p.member.Session, a.number("rollout", 0))
	r.waits(t)
}

// waits says that a call waits, when it was not answered at once.
func (r *Runner) waits(t scheduler.Ticket) {
	r.settle()
	if _, answered := r.answers[t]; !answered {
		r.say("k%d waits", t)
	}
}

func (r *Runner) cmdCancelTake(a *args) {
	r.owner.CancelTake(scheduler.Ticket(index(a.word("a call"), "k", r.tickets) + 1))
}

// request fixes the shards of a lease: its groups one after the other, spread over the shards.
func (r *Runner) request(a *args, admission uint64) scheduler.PublishRequest {
	groups := slices.Clone(r.given[admission].Groups)
	if a.flag("reversed") {
		slices.Reverse(groups)
	}
	if n := int(a.number("groups", int64(len(groups)))); n < len(groups) {
		groups = groups[:n]
	}
	req := scheduler.PublishRequest{Shards: make([][]scheduler.RowRange, a.number("shards", 1)), Generation: a.number("generation", 0)}
	req.Content[0] = byte(a.number("content", 1))
	for i, g := range groups {
		k := i % len(req.Shards)
		req.Shards[k] = append(req.Shards[k], scheduler.RowRange{Group: g.Receipt.Group, Handle: g.Handle, Rows: g.Samples})
	}
	for role := range strings.SplitSeq(a.text("roles", "actor:1"), ",") {
		name, size, _ := strings.Cut(role, ":")
		req.Roles = append(req.Roles, scheduler.RoleSize{Role: name, WorldSize: int(number(size))})
	}
	return req
}

func (r *Runner) cmdPublish(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	pub, err := r.owner.Publish(admission, r.request(a, admission))
	if err == nil {
		before, again := r.pubs[admission]
		r.pubs[admission] = pub
		if again && before.Digest == pub.Digest {
			r.say("the same publication")
			return
		}
	}
	r.result(err, "published %s rollout %d", r.admission(admission), pub.Rollout)
}

func (r *Runner) cmdAdmit(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	p := r.find(a.word("a trainer"))
	req := r.proof(p, admission)
	req.Role, req.Rank = a.text("role", req.Role), int(a.number("rank", int64(req.Rank)))
	if a.has("digest") {
		req.Digest[0] += byte(a.number("digest", 0))
	}
	req.Shards = a.shards()
	r.result(r.admit(p, req), "")
}

// shards are those that a command names; nil: none.
func (a *args) shards() (all []int) {
	for _, shard := range a.numbers("shards") {
		all = append(all, int(shard))
	}
	return all
}

// cmdAdd is a rank's word that it has added columns to rows that it admitted.
func (r *Runner) cmdAdd(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	p := r.find(a.word("a trainer"))
	r.result(r.owner.AddColumns(scheduler.AddRequest{
		Admission: admission, Session: p.member.Session, Shards: a.shards(), Columns: strings.Split(a.text("columns", "values"), ","),
		Handle: leases.Handle(a.number("segment", 1)), Rows: a.number("rows", 0),
	}), "")
}

// cmdAdded asks where a column is that ranks added.
func (r *Runner) cmdAdded(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	p := r.find(a.word("a trainer"))
	all, err := r.owner.AddedColumn(admission, p.member.Session, a.shards(), a.text("column", "values"))
	for _, at := range all {
		r.say("rows %d to %d of segment %d of %s", at.First, at.First+at.Rows, at.Handle, r.session(at.Holder))
	}
	r.result(err, "")
}

func (r *Runner) admit(p *process, req scheduler.AdmitRequest) error {
	err := r.owner.Admit(req)
	if err == nil {
		r.admits(p, req.Admission)
		if r.admissionsOf[req.Admission] == nil {
			r.admissionsOf[req.Admission] = map[leases.Rank]leases.AdmitRequest{}
		}
		r.admissionsOf[req.Admission][leases.Rank{Role: req.Role, Rank: req.Rank}] = req
	}
	return err
}

// admits remembers who steps when the commit is answered.
func (r *Runner) admits(p *process, admission uint64) {
	if !slices.Contains(r.admitted[admission], p) {
		r.admitted[admission] = append(r.admitted[admission], p)
	}
}

// saysAgain says what a rank's weights contain once the run has gone back; refused as long as they are newer.
func (r *Runner) saysAgain(p *process) {
	if p.unsaid && p.on != nil {
		_, err := p.on.Restored(p.member.Session, p.at, nil)
		p.unsaid = err != nil
	}
}

// cmdRestored puts a rank's weights back, and says so.
func (r *Runner) cmdRestored(a *args) {
	p := r.find(a.word("a trainer"))
	to := number(a.word("a rollout"))
	behind, err := r.owner.Restored(p.member.Session, to, []byte(a.text("digest", "")))
	if err == nil {
		p.back(to)
		p.unsaid = behind
	}
	r.result(err, "%s is at rollout %d, the run at %d", p.name, to, r.owner.Stats().NextRollout-1)
}

// proof is a trainer's word that it holds what was published.
func (r *Runner) proof(p *process, admission uint64) scheduler.AdmitRequest {
	req := scheduler.AdmitRequest{Admission: admission, Digest: r.pubs[admission].Digest, Session: p.member.Session}
	if t := p.member.Trainer; t != nil {
		req.Role, req.Rank, req.Generation = t.Role, t.Rank, t.Generation
	}
	return req
}

func (r *Runner) cmdCommit(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	t := r.calls(r.holders[admission])
	r.commits[t] = admission
	if name := a.text("by", ""); name != "" {
		p := r.find(name)
		r.admits(p, admission)
		r.owner.CommitAdmitted(t, r.proof(p, admission))
	} else {
		r.owner.Commit(t, admission)
	}
	r.waits(t)
}

func (r *Runner) cmdRollback(a *args) {
	v, err := r.owner.Rollback(r.findAdmission(a.word("an admission")), a.text("reason", "asked"))
	r.settle()
	r.result(err, "%s", r.status(v))
}

func (r *Runner) cmdStatus(a *args) {
	v, err := r.owner.LeaseStatus(r.findAdmission(a.word("an admission")))
	r.result(err, "%s", r.status(v))
}

func (r *Runner) cmdDiscardGroups(a *args) {
	admission := r.findAdmission(a.word("an admission"))
	t := r.calls(r.by(a))
	r.owner.DiscardGroups(t, admission, a.numbers("groups"), a.text("reason", "filtered"), a.flag("shorter"))
	r.waits(t)
}

// cmdAppended delivers what waits for a manual trainer: into its log, and the word of it to the owner. A slow one says
// what its log has and was not said.
func (r *Runner) cmdAppended(a *args) {
	p := r.find(a.word("a trainer"))
	unsaid := a.flag("unsaid") // the log has it, the word was lost on the way
	if !unsaid {
		r.sayWords(p)
	}
	queue := p.queue
	p.queue = nil
	for _, e := range queue {
		r.put(p, e)
		if !unsaid {
			r.owner.Appended(p.member.Session, e.Entry.Index)
		}
		r.settle()
	}
}

// cmdTrain lets a trainer of one rank train rollouts up to one: take, finish whatever runs until there is a batch,
// publish, admit, commit; with update also announce version rollout+1 that every engine confirms.
func (r *Runner) cmdTrain(a *args) {
	p := r.find(a.word("a trainer"))
	if p.member.Trainer == nil {
		panic(usage("%s is no trainer", p.name))
	}
	to, update := a.number("to", p.at+1), a.flag("update")
	generation := p.member.Trainer.Generation
	for rollout := p.at + 1; rollout <= to; rollout++ {
		if !r.trainOne(p, rollout, generation) {
			return
		}
		if update {
			r.announce(p, rollout+1)
		}
	}
}

func (r *Runner) trainOne(p *process, rollout, generation int64) bool {
	r.quiet = true
	defer func() { r.quiet = false }()
	t := r.ticket()
	r.owner.Take(t, p.member.Session, rollout)
	r.settle()
	for range 100 {
		if _, answered := r.answers[t]; answered {
			break
		}
		r.finishAll()
	}
	got, answered := r.answers[t]
	switch {
	case !answered:
		r.say("rollout %d: no batch", rollout)
		return false
	case got.Err != nil:
		r.say("rollout %d: %s", rollout, r.error(got.Err))
		return false
	}
	lease := got.Value.(scheduler.Lease) //nolint:forcetypeassert // what Take answers
	role := p.member.Trainer.Role
	pub, err := r.owner.Publish(lease.Admission, r.request(parseArgs(fmt.Sprintf("publish generation=%d roles=%s:1", generation, role)), lease.Admission))
	if err == nil {
		err = r.admit(p, scheduler.AdmitRequest{Admission: lease.Admission, Digest: pub.Digest, Role: role, Generation: generation, Session: p.member.Session})
	}
	if err != nil {
		r.say("rollout %d: %s", rollout, r.error(err))
		return false
	}
	c := r.ticket()
	r.owner.Commit(c, lease.Admission)
	r.settle()
	r.say("rollout %d: groups %s %s", rollout, groupIDs(lease.Groups), r.value(r.answers[c]))
	return r.answers[c].Err == nil
}

// finishAll reports success for every execution that runs, in the order of their grants.
func (r *Runner) finishAll() {
	for _, x := range slices.Clone(r.executions) {
		p := r.bySession(x.Receipt.Worker)
		if p == nil || p.gone {
			continue
		}
		if h := p.holding(x.Receipt.Execution); h != nil && h.Outcome == nil {
			o := r.outcome(parseArgs("success"), x)
			h.Outcome = &o
			if err := r.terminal(x.Receipt, o); err != nil {
				p.forget(x.Receipt)
			}
			r.settle()
		}
	}
}

// announce carries one weight update through: begin, every engine confirms, record.
func (r *Runner) announce(p *process, version int64) {
	r.quiet = true
	defer func() { r.quiet = false }()
	t := r.ticket()
	r.owner.BeginUpdate(t, p.member.Session, version, scheduler.InFlight, nil)
	r.settle()
	start, ok := r.answers[t].Value.(scheduler.UpdateStart)
	if !ok {
		r.say("version %d: %s", version, r.value(r.answers[t]))
		return
	}
	for _, s := range start.Engines {
		var line leases.Timeline
		line, err := r.owner.Confirm(s, version, nil)
		if e := r.bySession(s); err == nil && e != nil {
			e.confirmed(version, line)
		}
	}
	c := r.ticket()
	r.owner.Record(c, start.Hold)
	r.settle()
	r.say("%s", r.value(r.answers[c]))
}
