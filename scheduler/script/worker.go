package script

import (
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// receipts reads the executions of a command, and changes what the command says to: another worker, attempt,
// execution or timeline than was granted.
func (r *Runner) receipts(a *args) []scheduler.Assignment {
	var out []scheduler.Assignment
	for len(a.words) > 0 && strings.HasPrefix(a.words[0], "x") {
		out = append(out, r.executionRange(a.word("an execution"))...)
	}
	if len(out) == 0 {
		panic(usage("%s needs executions, for example x1 or x1-x4", a.command))
	}
	out = append([]scheduler.Assignment(nil), out...)
	for i := range out {
		rec := &out[i].Receipt
		if name := a.text("worker", ""); name != "" {
			rec.Worker = r.find(name).member.Session
		}
		rec.Attempt = uint32(a.number("attempt", int64(rec.Attempt)))
		rec.Execution += uint64(a.number("execution-plus", 0))
		rec.Timeline.Number = uint64(a.number("timeline", int64(rec.Timeline.Number)))
	}
	return out
}

func (r *Runner) cmdDone(a *args) {
	n := a.number("n", int64(r.cfg.GroupSize))
	for _, x := range r.receipts(a) {
		err := r.owner.SampleDone(x.Receipt, int(n))
		r.count(r.owner).sampleDone(x.Receipt, int(n), err)
		r.result(err, "")
		if p := r.bySession(x.Receipt.Worker); p != nil && err == nil {
			if h := p.holding(x.Receipt.Execution); h != nil {
				h.Done = max(h.Done, int(n))
			}
		}
	}
}

// cmdTerminal reports success, retry, failure or discard.
func (r *Runner) cmdTerminal(a *args) {
	said := a.flag("unsaid")
	for _, x := range r.receipts(a) {
		o := r.outcome(a, x)
		if p := r.bySession(x.Receipt.Worker); p != nil {
			if h := p.holding(x.Receipt.Execution); h != nil && h.Outcome == nil {
				h.Outcome = &o
			}
		}
		if said {
			continue // finished, and the owner has not heard of it
		}
		r.result(r.terminal(x.Receipt, o), "")
		r.settle()
	}
}

// terminal reports the end of an execution to the owner that commands go to.
func (r *Runner) terminal(x leases.Receipt, o leases.Outcome) error {
	err := r.owner.Terminal(x, o)
	r.count(r.owner).reported(r.bySession(x.Worker), x, o, err)
	return err
}

// cmdReport says what its worker has finished: for the first time when that was unsaid, else again.
func (r *Runner) cmdReport(a *args) {
	for _, x := range r.receipts(a) {
		var h *scheduler.Held
		if p := r.bySession(x.Receipt.Worker); p != nil {
			h = p.holding(x.Receipt.Execution)
		}
		if h == nil || h.Outcome == nil {
			panic(usage("%s has not ended, or is released", r.receipt(x.Receipt)))
		}
		r.result(r.terminal(h.Receipt, *h.Outcome), "")
		r.settle()
	}
}

func (r *Runner) outcome(a *args, x scheduler.Assignment) leases.Outcome {
	o := leases.Outcome{Reason: a.text("reason", ""), Tokens: a.number("tokens", int64(10*r.cfg.GroupSize)), Bytes: a.number("bytes", 100)}
	o.Kind = map[string]leases.Kind{"success": leases.Success, "retry": leases.Retry, "failure": leases.Failure, "discard": leases.Discard}[a.command]
	for _, key := range []string{"slots", "parents", "versions", "sum", "aborted", "failed", "types", "digest", "handle", "made", "columns"} {
		a.used[key] = true
	}
	if o.Kind != leases.Success {
		return o
	}
	o.Handle = leases.Handle(a.number("handle", int64(r.places[runOf(x.Receipt)]+1)))
	o.Digest[0], o.Digest[1] = byte(a.number("digest", 1)), byte(x.Receipt.Execution)
	if a.text("digest", "") == "0" {
		o.Digest = [32]byte{}
	}
	if r.cfg.Source.Keyed {
		o.Row.Content[0], o.Row.Schema[0] = byte(a.number("made", x.Row+1)), byte(a.number("columns", 1))
	}
	o.Aborted = int(a.number("aborted", 0))
	for _, s := range a.numbers("failed") {
		o.Failed = append(o.Failed, int32(s))
	}
	for _, column := range strings.FieldsFunc(a.text("types", ""), func(c rune) bool { return c == ',' }) {
		name, kind, _ := strings.Cut(column, ":")
		o.Columns = append(o.Columns, leases.Column{Name: name, Type: kind})
	}
	o.Parents = append(o.Parents, a.numbers("parents")...)
	if a.has("slots") {
		for _, s := range a.numbers("slots") {
			o.Slots = append(o.Slots, int32(s))
		}
	} else {
		for s := range r.cfg.GroupSize {
			o.Slots = append(o.Slots, int32(s))
		}
	}
	if v := a.numbers("versions"); len(v) > 0 {
		o.HasVersions, o.MinVersion, o.MaxVersion = true, v[0], v[len(v)-1]
		o.SumVersions = a.number("sum", v[0]*int64(len(o.Slots)))
	}
	return o
}

func (r *Runner) cmdConfirm(a *args) {
	p := r.find(a.word("an engine"))
	version := a.number("version", 0)
	line, err := r.owner.Confirm(p.member.Session, version, []byte(a.text("digest", "")))
	if err == nil {
		p.confirmed(version, line)
	}
	r.result(err, "")
}

// confirmed is what an engine's sidecar remembers for the owner's next life.
func (p *process) confirmed(version int64, line leases.Timeline) {
	if e := p.member.Engine; e != nil {
		e.Confirmed, e.Timeline = version, line
		return
	}
	p.member.Worker.Confirmed, p.member.Worker.Timeline = version, line
}

func (r *Runner) cmdQuiet(a *args) {
	p := r.find(a.word("an engine"))
	freed, err := r.owner.Quiet(p.member.Session)
	if err == nil {
		r.count(r.owner).quiet(r.owner, p)
	}
	r.result(err, "%d samples freed", freed)
}

func (r *Runner) cmdSlots(a *args) {
	p, n := r.find(a.word("a worker")), int(number(a.word("a number")))
	err := r.owner.SetSlots(p.member.Session, n)
	if err == nil {
		p.member.Worker.Slots = n
	}
	r.result(err, "")
}

func (r *Runner) cmdCancelGroups(a *args) {
	n, err := r.owner.CancelGroups(numbers(a.word("groups")), a.text("reason", ""))
	r.result(err, "%d asked to end", n)
}

// cmdCredit asks for leave to write: all executions in one call.
func (r *Runner) cmdCredit(a *args) {
	var receipts []leases.Receipt
	var bytes []int64
	n := a.number("bytes", 100)
	for _, x := range r.receipts(a) {
		receipts, bytes = append(receipts, x.Receipt), append(bytes, n)
	}
	t := r.calls(r.bySession(receipts[0].Worker))
	for i, x := range receipts {
		r.count(r.owner).asks(t, x, bytes[i])
	}
	r.owner.Credit(t, receipts, bytes)
	r.waits(t)
	r.count(r.owner).waits(t)
}

func (r *Runner) cmdFreed(a *args) {
	r.owner.BytesReleased(a.text("host", "host1"), a.number("bytes", 0))
}
