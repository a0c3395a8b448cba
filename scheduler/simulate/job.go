package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// job is the training job: its ranks, which live and die together, and what it does next. Its first rank drives. What its
// weights contain is the Runner's to know: every trainer process there keeps a lineage of its own.
type job struct {
	w           *world
	ranks       []rank
	generation  int64
	roles       string // as publish takes them
	checkpoints []checkpoint
	loaded      string // the checkpoint that this life began with, "" for none
	finished    bool

	// One call at a time waits for an answer; it is made again when the connection was cut.
	call  int
	again func()
	then  func(any, error)
	next  func() // what the job does when nothing is awaited; nil: take

	lease     scheduler.Lease
	ahead     int // call that takes the next rollout early, 0 for none
	aheadAt   int64
	announced int64 // rollout that the last announced version contains, while the run ends
	committed bool  // the open lease is being committed
	start     scheduler.UpdateStart
	nudged    nudged
}

// nudged is an update that another thread of the job has recorded.
type nudged struct {
	call  int
	start scheduler.UpdateStart
}

type rank struct {
	name  string
	words string // what the trainer command says of it
}

type checkpoint struct {
	name    string
	rollout int64
}

func (j *job) holder() string { return j.ranks[0].name }

func (j *job) at() int64 {
	if len(j.ranks) == 0 {
		return -1
	}
	return j.w.r.View(j.holder()).At
}

func (j *job) latest() *checkpoint {
	if n := len(j.checkpoints); n > 0 {
		return &j.checkpoints[n-1]
	}
	return nil
}

// idle forgets what was awaited.
func (j *job) idle() {
	j.call, j.again, j.then, j.next, j.ahead, j.committed, j.announced, j.nudged = 0, nil, nil, nil, 0, false, -1, nudged{}
}

// die ends every process of the job.
func (j *job) die() {
	for _, k := range j.ranks {
		if j.w.r.View(k.name).Alive {
			j.w.do("lose %s", k.name)
		}
	}
	j.ranks = nil
	j.idle()
}

// restart begins a new life of the job from a checkpoint.
func (j *job) restart(latest bool) {
	j.die()
	j.load(latest)
	j.attach()
}

// load chooses the checkpoint and the ranks of the next life.
func (j *job) load(latest bool) {
	r := j.w.random
	j.loaded = ""
	if n := len(j.checkpoints); n > 0 {
		i := n - 1
		if !latest {
			i = r.pick(n)
		}
		j.loaded = j.checkpoints[i].name
	}
	if j.generation == 0 || !j.w.calm && r.one(3) {
		j.generation++
		j.roles = fmt.Sprintf("actor:%d", r.between(1, 2))
		if r.one(4) {
			j.roles += ",critic:1"
		}
	}
	j.ranks = nil
	for role := range strings.SplitSeq(j.roles, ",") {
		name, size, _ := strings.Cut(role, ":")
		for i := range int(size[0] - '0') {
			words := fmt.Sprintf("role=%s rank=%d world=%s generation=%d", name, i, size, j.generation)
			if j.loaded != "" {
				words += " checkpoint=" + j.loaded
			}
			j.ranks = append(j.ranks, rank{fmt.Sprintf("%s%d", name, i), words})
		}
	}
	j.idle()
}

// attach brings every rank to the owner that is not there. One that was refused or expelled means that the job has to start
// again.
func (j *job) attach() {
	w := j.w
	if w.r.Owner() == nil {
		return
	}
	if j.ranks == nil {
		j.load(true)
	}
	fresh := !slices.ContainsFunc(j.ranks, func(k rank) bool { return w.r.View(k.name).Alive })
	if !fresh && j.broken() {
		j.restart(true)
		return
	}
	for _, k := range j.ranks {
		switch v := w.r.View(k.name); {
		case v.Attached:
			continue
		case !v.Alive:
			w.do("trainer %s slow %s", k.name, k.words)
		default:
			w.do("reattach %s", k.name)
		}
		if errors.Is(w.r.Refused(), leases.ErrState) && w.known() {
			j.older()
		}
		if !w.r.View(k.name).Alive { // refused: these weights will not do
			j.die()
			return
		}
		if !w.r.View(k.name).Attached || j.missing() {
			return
		}
		if k == j.ranks[0] {
			j.ahead = 0 // its answer is lost
			if j.again != nil {
				j.again()
			}
		}
	}
	if j.ready() { // what was trained after these weights is undone
		at := j.at()
		j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout > at })
	}
}

// older gives up the checkpoints of what the run went back from before anybody was told.
func (j *job) older() {
	if next, err := j.w.r.Owner().NextRollout(); err == nil {
		j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout >= next })
	}
}

// broken says that a rank was refused or expelled while others live.
func (j *job) broken() bool {
	return slices.ContainsFunc(j.ranks, func(k rank) bool { return !j.w.r.View(k.name).Alive })
}

// missing says that a rank that was there has been expelled by the attachment of another.
func (j *job) missing() bool {
	seen := false
	for _, k := range slices.Backward(j.ranks) {
		v := j.w.r.View(k.name)
		seen = seen || v.Alive
		if seen && !v.Alive {
			return true
		}
	}
	return false
}

func (j *job) ready() bool {
	for _, k := range j.ranks {
		if !j.w.r.View(k.name).Attached {
			return false
		}
	}
	return len(j.ranks) > 0 && j.w.known()
}

func (j *job) cutRank() {
	if len(j.ranks) == 0 {
		return
	}
	k := j.ranks[j.w.random.pick(len(j.ranks))]
	if j.w.r.View(k.name).Attached {
		j.w.do("lose %s for-a-while", k.name)
	}
}

// loseSidecar kills a rank's sidecar: the weights live on in a new session, and the process has its copy of the log, or none.
func (j *job) loseSidecar() {
	if len(j.ranks) != 1 || !j.w.r.View(j.holder()).Attached {
		return
	}
	if j.w.random.one(2) {
		j.w.do("sidecar %s", j.holder())
	} else {
		j.w.do("sidecar %s without-copy", j.holder())
	}
	j.idle()
}

// deliver brings a rank some of its messages, or the owner the word of a rank.
func (j *job) deliver() {
	w := j.w
	var names []string
	for _, k := range j.ranks {
		names = append(names, k.name)
	}
	n := w.any(names, inTransit)
	if n == "" {
		return
	}
	if v := w.r.View(n); v.Words > 0 && (v.Inbox == 0 || w.random.one(2)) {
		w.do("appended %s", n)
		return
	}
	unsaid := ""
	if w.random.one(3) {
		unsaid = " unsaid"
	}
	w.do("deliver %s n=%d%s", n, w.random.between(1, 3), unsaid)
}

// ask makes a call that waits; then runs with its answer.
func (j *job) ask(line string, then func(any, error)) {
	j.then = then
	j.again = func() {
		j.w.do("%s", line)
		j.call = j.w.r.Calls()
	}
	j.again()
}

// heard takes the answer that is awaited; false when there is none yet.
func (j *job) heard() bool {
	a, ok := j.w.r.Answer(j.call)
	if !ok {
		return false
	}
	then := j.then
	j.call, j.again, j.then = 0, nil, nil
	then(a.Value, a.Err)
	return true
}

// step does the next thing of the training loop.
func (j *job) step() {
	w := j.w
	if w.failure != "" || !j.ready() || j.finished || w.r.Owner().Deciding() && !j.committed {
		return
	}
	switch {
	case j.committed && j.at() >= j.lease.Rollout: // the only rank's log has decided, or the answer came
		j.idleButAhead()
	case j.call != 0:
		j.heard()
	case j.next != nil:
		next := j.next
		j.next = nil
		next()
	default:
		j.take()
	}
}

func (j *job) idleButAhead() {
	ahead, at := j.ahead, j.aheadAt
	j.idle()
	j.ahead, j.aheadAt = ahead, at
}

// backTo forgets the checkpoints, and the version, of what was undone.
func (j *job) backTo(rollout int64) {
	j.announced = min(j.announced, rollout-1)
	j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout > rollout })
	j.ahead = 0
}

// fail starts the job again: the owner has gone where its weights cannot follow.
func (j *job) fail() { j.next = func() { j.restart(true) } }

func (j *job) processes(sessions []leases.Session) []string {
	var out []string
	for _, s := range sessions {
		out = append(out, j.w.r.Process(s))
	}
	return out
}
