package script

import "outrider/scheduler"

func (r *Runner) findHold(a *args) scheduler.HoldID {
	word := a.word("a hold")
	if i := index(word, "h", len(r.holds)+1); i < len(r.holds) {
		return r.holds[i]
	}
	// One that stands and that nobody was told of: ids count up.
	if len(r.holds) == 0 {
		panic(usage("no hold has been told of"))
	}
	next := r.holds[len(r.holds)-1] + 1
	r.hold(next)
	return next
}

func (r *Runner) cmdHold(a *args) {
	p := r.find(a.word("a session"))
	if !a.flag("again") {
		p.holds++
	}
	h, err := r.owner.Hold(p.member.Session, p.holds, a.text("reason", "evaluation"))
	if err != nil {
		r.result(err, "")
		return
	}
	r.say("%s held", r.hold(h))
}

func (r *Runner) cmdFrontier(a *args) {
	t := r.ticket()
	r.owner.Frontier(t, r.findHold(a))
	r.waits(t)
}

func (r *Runner) cmdCancelFrontier(a *args) {
	r.owner.CancelFrontier(scheduler.Ticket(index(a.word("a call"), "k", r.tickets) + 1))
}

func (r *Runner) cmdRelease(a *args) { r.result(r.owner.Release(r.findHold(a)), "") }

func (r *Runner) cmdUpdate(a *args) {
	p := r.find(a.word("a session"))
	t := r.calls(p)
	mode := scheduler.Mode(a.pick("mode", "drain", "in-flight"))
	r.owner.BeginUpdate(t, p.member.Session, a.number("version", 1), mode, []byte(a.text("digest", "")))
	r.waits(t)
}

func (r *Runner) cmdWithdraw(a *args) {
	r.result(r.owner.Withdraw(r.find(a.word("a session")).member.Session), "")
}

func (r *Runner) cmdRebroadcast(a *args) {
	p := r.find(a.word("a session"))
	t := r.calls(p)
	r.owner.Rebroadcast(t, p.member.Session)
	r.waits(t)
}

func (r *Runner) cmdUpdateStatus(a *args) {
	v, err := r.owner.UpdateStatus(r.findHold(a))
	r.result(err, "%s", r.report(v))
}

func (r *Runner) cmdRecord(a *args) {
	t := r.calls(r.by(a))
	r.owner.Record(t, r.findHold(a))
	r.waits(t)
}

func (r *Runner) cmdUndo(a *args) {
	t := r.calls(r.by(a))
	r.backs[t] = true
	r.owner.Undo(t, r.findHold(a))
	r.waits(t)
}
