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
		id := a.word("an id")
		rows := fmt.Sprintf("%s/%d", id, content)
		rows += strings.Repeat(" ", max(0, int(size)-len(rows)))
		one := leases.Push{ID: leases.NamePush([]byte(id)), Digest: [16]byte{byte(content)}, Rows: []byte(rows)}
		r.pushes[one.ID] = id
		pushes = append(pushes, one)
	}
	r.push(p, pushes, wait)
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

// row names a group's prompt.
func row(a scheduler.Assignment) string {
	if a.Pushed != nil {
		return strings.TrimSpace(string(a.Pushed))
	}
	return fmt.Sprint(a.Row)
}
