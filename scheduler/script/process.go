package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// process is one attached process with what its sidecar keeps.
type process struct {
	name   string
	member scheduler.Member
	gone   bool // lost; an attached one of the same name is another process
	// on is the life of the owner that it is connected to, nil when the connection is cut.
	on *scheduler.Scheduler
	// connections counts the attachments: an answer to a call of an earlier one is lost.
	connections int
	// slow: what the owner sends waits in inbox until the script delivers it, and is lost with the connection.
	slow  bool
	inbox []scheduler.Effect

	// Worker: what it runs and what it has finished and not been told to release, by execution.
	held []scheduler.Held
	// draining is set once it asked for no more work: its sidecar says so to the owner's next life.
	draining bool
	// stop has the executions that it was told to end: their data is not wanted.
	stop map[uint64]bool

	// kept is what it keeps for workers of other processes.
	kept []scheduler.Held

	holds uint64 // that it has asked for

	// Producer: what it has pushed and not been told to forget, in order.
	pushed []leases.Push
	offers []offer // that it has not been answered

	// Trainer.
	manual  bool // entries wait in queue until the script delivers them
	queue   []scheduler.Append
	words   []uint64 // entries that the log has and the owner has not been told of
	base    []byte
	log     []scheduler.Entry
	copied  bool // base and log are the process's copy: its sidecar has none yet
	lineage []step
	at      int64 // last rollout that its weights contain
	unsaid  bool  // the run went back below that, and it has not said what it contains since
	moved   bool  // its weights are no longer those that it began with
}

// step is one rollout in a trainer's weights.
type step struct {
	rollout int64
	groups  []int64
	prompts []string // of them, when they were pushed
}

// checkpoint is what a trainer saves: its weights (by their lineage) and the run's state.
type checkpoint struct {
	rollout int64
	state   []byte
	lineage []step
}

// stage is the stage that it serves, empty for none.
func (p *process) stage() string {
	if p.member.Worker == nil {
		return ""
	}
	return p.member.Worker.Stage
}

func (r *Runner) find(name string) *process {
	for _, p := range slices.Backward(r.procs) {
		if p.name == name && !p.gone {
			return p
		}
	}
	panic(usage("no process %s is alive", name))
}

func (r *Runner) bySession(s leases.Session) *process {
	return r.bySessions[s]
}

// process starts one, with a session of its own.
func (r *Runner) process(a *args) *process {
	name := a.word("a name")
	r.made++
	p := &process{name: name, at: -1, slow: a.flag("slow"), stop: map[uint64]bool{}}
	p.member = scheduler.Member{Session: leases.Session(processSessions + r.made), Host: a.text("host", "host1"), Process: a.text("process", ""), Name: name, Pid: int64(r.made)}
	r.sessions[p.member.Session], r.bySessions[p.member.Session] = name, p
	r.procs = append(r.procs, p)
	return p
}

// attach dials the owner, as the one just looked up or at an address that it kept, with what the process keeps.
func (r *Runner) attach(p *process, lookedUp bool) {
	m := p.member
	m.LookedUp = lookedUp
	if w := m.Worker; w != nil {
		role := *w
		m.Worker, role.Inventory = &role, slices.Clone(p.held)
		if p.draining {
			role.Slots = 0 // until the owner has heard why
		}
	}
	if t := m.Trainer; t != nil {
		t.StateAt, t.Base, t.Log, t.Copied, t.Unsaid = p.at, p.base, slices.Clone(p.log), p.copied, p.unsaid
		p.queue = nil
	}
	p.connections++
	p.on, p.inbox, p.words = r.owner, nil, nil
	w, err := r.owner.Attach(m)
	r.count(r.owner).attached(p, m.Worker, err)
	if err != nil {
		p.on = nil
		r.result(err, "")
		// A refused trainer process ends; one that met an owner without a future looks for the next.
		p.gone = m.Trainer != nil && !errors.Is(err, leases.ErrReplaced)
		return
	}
	p.member.KnownTerm = w.Term
	if p.draining {
		r.result(r.owner.Drain(p.member.Session), "")
	}
	r.saysAgain(p)
	for _, v := range w.Void {
		// A finished one is released; one that runs is stopped, and its end reported all the same.
		p.stop[v.Execution] = true
		r.say("void %s %s", p.name, r.receipt(v))
	}
	if w.Recovering {
		r.say("%s waits: the owner has not learned its base", p.name)
	} else {
		r.say("%s attached: timeline %s, version %d, next rollout %d", p.name, r.timeline(w.Timeline), w.Announced, w.NextRollout)
	}
}

// forget drops what exactly this receipt stands for.
func (p *process) forget(receipt leases.Receipt) {
	p.held = slices.DeleteFunc(p.held, func(h scheduler.Held) bool { return h.Receipt == receipt })
}

func (p *process) holding(execution uint64) *scheduler.Held {
	for i := range p.held {
		if p.held[i].Receipt.Execution == execution {
			return &p.held[i]
		}
	}
	return nil
}

func (r *Runner) cmdWorker(a *args) {
	p := r.process(a)
	p.member.Worker = &scheduler.WorkerRole{Slots: int(a.number("slots", 4)), Engine: a.flag("engine"), Uses: a.text("uses", ""), Stage: a.text("stage", "")}
	p.member.Memory = a.number("memory", 0)
	r.attach(p, true)
}

// cmdEngine attaches a process that holds weights and runs no work.
func (r *Runner) cmdEngine(a *args) {
	p := r.process(a)
	p.member.Engine = &scheduler.EngineRole{Name: a.text("of", p.name)}
	r.attach(p, true)
}

func (r *Runner) cmdClient(a *args) {
	p := r.process(a)
	p.member.Client = true
	r.attach(p, true)
}

func (r *Runner) cmdTrainer(a *args) {
	p := r.process(a)
	p.manual = a.flag("manual")
	t := &scheduler.TrainerRole{
		Role: a.text("role", "actor"), Rank: int(a.number("rank", 0)), WorldSize: int(a.number("world", 1)), Generation: a.number("generation", 0),
	}
	p.at = a.number("state-at", -1)
	if name := a.text("checkpoint", ""); name != "" {
		c := r.checkpoint(name)
		p.at, t.State, p.lineage = c.rollout, c.state, slices.Clone(c.lineage)
		if a.flag("without-state") {
			t.State = nil
		}
	}
	p.member.Trainer = t
	r.attach(p, true)
}

func (r *Runner) cmdReattach(a *args) {
	kept := a.flag("kept-address")
	p := r.find(a.word("a process"))
	r.attach(p, !kept)
	if p.on == r.owner {
		r.pushAgain(p)
		if len(p.kept) > 0 {
			r.keep(p, p.kept)
		}
	}
}

func (r *Runner) cmdLose(a *args) {
	p := r.find(a.word("a process"))
	p.gone = !a.flag("for-a-while")
	p.on, p.inbox, p.words = nil, nil, nil
	r.detach(p, "killed")
}

// detach lets every life of the owner notice that a process's connection has ended.
func (r *Runner) detach(p *process, reason string) {
	for _, o := range r.owners() {
		o.Detach(p.member.Session, reason)
		r.count(o).detached(o, p)
	}
}

// cmdSidecar kills the sidecar of a process: the process goes on in a session of its own, with what its weights contain and its copy
// of the log.
func (r *Runner) cmdSidecar(a *args) {
	p := r.find(a.word("a process"))
	r.detach(p, "sidecar killed")
	r.made++
	p.on, p.inbox, p.queue, p.words, p.kept, p.unsaid, p.copied = nil, nil, nil, nil, nil, false, true
	if a.flag("without-copy") {
		p.base, p.log = nil, nil
	}
	p.member.Session = leases.Session(processSessions + r.made)
	r.sessions[p.member.Session], r.bySessions[p.member.Session] = p.name, p
	if p.member.Worker != nil {
		p.held, p.stop, p.offers = nil, map[uint64]bool{}, nil
	}
	if t := p.member.Trainer; t != nil && p.moved {
		t.State = nil // of other weights
	}
}

// cmdLeave ends a process in order.
func (r *Runner) cmdLeave(a *args) {
	p := r.find(a.word("a process"))
	p.gone, p.on, p.inbox = true, nil, nil
	for _, o := range r.owners() {
		o.Leave(p.member.Session)
		r.count(o).detached(o, p)
	}
}

func (r *Runner) cmdDrain(a *args) {
	p := r.find(a.word("a worker"))
	p.draining = true
	r.result(r.owner.Drain(p.member.Session), "")
}

// cmdWeights shows what a trainer's weights contain, as its own lineage says.
func (r *Runner) cmdWeights(a *args) {
	p := r.find(a.word("a trainer"))
	seen := map[int64]int64{}
	for _, s := range p.lineage {
		r.say("rollout %d: groups %s", s.rollout, strings.Trim(strings.ReplaceAll(fmt.Sprint(s.groups), " ", ","), "[]"))
		for _, g := range s.groups {
			if before, twice := seen[g]; twice {
				r.say("TWICE: group %d, in rollouts %d and %d", g, before, s.rollout)
			}
			seen[g] = s.rollout
		}
	}
	r.say("%d groups, each once", len(seen))
}

// cmdMapped says what a rank's process has mapped.
func (r *Runner) cmdMapped(a *args) {
	p := r.find(a.word("a trainer"))
	now := scheduler.Mapped{Bytes: a.number("bytes", 0), HeldSegments: a.number("held", 0), HeldBytes: a.number("held-bytes", 0), HeldFor: seconds(a, "for")}
	r.result(r.owner.Mapped(p.member.Session, now), "")
}

func (r *Runner) cmdLogCopy(a *args) {
	p := r.find(a.word("a trainer"))
	rollout, err := leases.StateRollout(p.base)
	if err != nil {
		r.say("no base; %d entries", len(p.log))
		return
	}
	var index []string
	for _, e := range p.log {
		index = append(index, strconv.FormatUint(e.Index, 10))
	}
	r.say("base of rollout %d, entries %s", rollout, strings.Join(index, ","))
}
