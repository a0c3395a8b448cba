package scheduler

import (
	"bytes"
	"errors"
	"slices"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// job is the training job: its ranks, what their weights contain by the job's own record, and its checkpoints. All its
// processes live and die together.
type job struct {
	w           *world
	life        int // callbacks of a former life mean nothing
	ranks       []*simRank
	generation  int64
	sizes       int // ranks of this generation
	term        leases.Term
	weights     []trained
	checkpoints []checkpoint
	loaded      []byte // the state bytes of the checkpoint that this life began with
	broken      bool   // a rank was refused or expelled: start again
	finished    bool

	// One call at a time waits for an answer; it is made again when the connection was cut.
	waiting func()
	calls   int    // an answer to an earlier call means nothing
	alone   uint64 // admission that the only rank is committing
	phase   string
	next    func() // what the job does next, nil: take
	lease   Lease
	ahead   *Lease // taken before its turn
	pub     Publication
	start   UpdateStart
}

type trained struct {
	rollout int64
	groups  []int64
}

type checkpoint struct {
	rollout int64
	weights []trained
	state   []byte
}

// simRank is one rank's process with its sidecar's copy of base and log.
type simRank struct {
	session  leases.Session
	rank     int
	attached bool
	box      []Effect
	base     []byte
	log      []Entry
	words    []func() // that entries are in the log, on their way
}

func (j *job) at() int64 {
	if len(j.weights) == 0 {
		return -1
	}
	return j.weights[len(j.weights)-1].rollout
}

func (j *job) rank(session leases.Session) *simRank {
	for _, r := range j.ranks {
		if r.session == session {
			return r
		}
	}
	require.Failf(j.w.t, "foreign session", "effect for %s", session)
	return nil
}

func (r *simRank) inbox(e Effect) {
	if r.attached {
		r.box = append(r.box, e)
	}
}

// cut ends all connections.
func (j *job) cut() {
	for _, r := range j.ranks {
		j.cutRank(r)
	}
}

func (j *job) cutRank(r *simRank) {
	r.attached, r.box, r.words = false, nil, nil
	if r.rank == 0 {
		for t := range j.w.asked {
			if !j.w.credits[t] {
				j.w.asked[t] = nil
			}
		}
	}
}

func (j *job) lose(i int) {
	if i < len(j.ranks) && j.ranks[i].attached {
		j.w.trace("rank %d is cut off", i)
		j.cutRank(j.ranks[i])
		j.w.s.Detach(j.ranks[i].session, "cut off")
		j.w.apply()
	}
}

// die ends every process of the job.
func (j *job) die() {
	for _, r := range j.ranks {
		j.cutRank(r)
		j.w.s.Detach(r.session, "died")
	}
	j.life++
	j.w.apply() // one may still be sent what another's end has led to
	j.ranks = nil
}

// restart begins a new life of the job from a checkpoint.
func (j *job) restart(latest bool) {
	j.die()
	j.load(latest)
	j.attach()
}

// loseSidecar kills the only rank's sidecar: base and log are gone, the weights live on in a new session.
func (j *job) loseSidecar() {
	if len(j.ranks) != 1 || !j.ranks[0].attached || j.broken {
		return
	}
	j.lose(0)
	j.life++
	j.ranks[0] = &simRank{session: j.w.session()}
	j.waiting, j.next, j.ahead, j.phase, j.alone = nil, nil, nil, "take", 0
	j.w.trace("the sidecar is another one: %s", j.ranks[0].session)
}

func (j *job) load(latest bool) {
	w := j.w
	j.weights, j.loaded = nil, nil
	if n := len(j.checkpoints); n > 0 {
		i := n - 1
		if !latest {
			i = w.pick(n, "checkpoint")
		}
		j.weights, j.loaded = slices.Clone(j.checkpoints[i].weights), j.checkpoints[i].state
	}
	if j.generation == 0 || !w.calm && w.pick(3, "generation") == 0 {
		j.generation++
		j.sizes = 1 + w.pick(2, "world_size")
	}
	j.ranks = nil
	for i := range j.sizes {
		j.ranks = append(j.ranks, &simRank{session: w.session(), rank: i})
	}
	j.broken, j.waiting, j.next, j.ahead, j.phase, j.alone = false, nil, nil, nil, "take", 0
	w.trace("job starts: generation %d, %d ranks, at %d", j.generation, j.sizes, j.at())
}

// attach brings every rank to the owner that is not there.
func (j *job) attach() {
	w := j.w
	if j.broken {
		j.broken = false
		j.restart(true)
		return
	}
	if j.ranks == nil {
		j.load(true)
	}
	for _, r := range j.ranks {
		if r.attached {
			continue
		}
		r.attached = true
		welcome, err := w.s.Attach(Member{
			Session: r.session, Host: "t", Name: "trainer", KnownTerm: j.term, LookedUp: true,
			Trainer: &TrainerRole{
				Role: "actor", Rank: r.rank, WorldSize: j.sizes, Generation: j.generation, StateAt: j.at(),
				Base: r.base, Log: slices.Clone(r.log), State: j.loaded,
			},
		})
		w.trace("rank %d attached as %s at %d: %v", r.rank, r.session, j.at(), err)
		if err != nil {
			require.False(w.t, w.calm && errors.Is(err, leases.ErrReplaced))
			r.attached, j.broken = false, true
			if next, e := w.s.NextRollout(); e == nil && errors.Is(err, leases.ErrState) {
				// The run went back further than these weights before anybody was told: an older checkpoint has to do.
				j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout >= next })
			}
			w.apply()
			return
		}
		j.term = welcome.Term
		w.apply()
		if j.broken {
			return
		}
		if r.rank == 0 && j.waiting != nil {
			j.waiting()
		}
	}
	if j.ready() { // what was trained after these weights is undone
		j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout > j.at() })
	}
}

func (j *job) deliver(n int) {
	for _, r := range j.ranks {
		words := r.words
		r.words = nil
		for _, word := range words {
			j.w.send(word)
		}
		for i := 0; i < n && len(r.box) > 0; i++ {
			e := r.box[0]
			r.box = r.box[1:]
			switch e := e.(type) {
			case SetBase:
				r.base = e.State
				r.log = slices.DeleteFunc(r.log, func(o Entry) bool { return o.Index <= e.Index })
				for _, entry := range e.Log {
					r.append(entry)
				}
			case Append:
				r.append(e.Entry)
				j.decided(e.Decides)
				session, index := r.session, e.Entry.Index
				word := func() {
					if r.attached && index <= lastIndex(r.log) {
						j.w.s.Appended(session, index)
					}
				}
				if len(r.words) > 0 || j.w.pick(3, "the word") == 0 {
					r.words = append(r.words, word)
					continue
				}
				j.w.send(word)
			}
		}
	}
}

func (r *simRank) append(e Entry) {
	for i, old := range r.log {
		if old.Index == e.Index {
			if !bytes.Equal(old.Bytes, e.Bytes) {
				r.log = append(r.log[:i:i], e)
			}
			return
		}
	}
	r.log = append(r.log, e)
}

// ask makes a call that waits; then runs with the answer. It is made again after a cut.
func (j *job) ask(phase string, call func(Ticket), then func(any, error)) {
	j.phase = phase
	life := j.life
	j.calls++
	asked := j.calls
	j.waiting = func() {
		j.w.ask(call, func(v any, err error) {
			if j.life != life || j.calls != asked {
				return
			}
			j.w.trace("%s: %+v %v", phase, v, err)
			j.waiting = nil
			then(v, err)
		})
	}
	j.waiting()
}

func (j *job) ready() bool {
	for _, r := range j.ranks {
		if !r.attached {
			return false
		}
	}
	return len(j.ranks) > 0 && !j.broken && j.w.s.ledger != nil
}

// step does the next thing of the training loop, unless an answer is awaited.
func (j *job) step() {
	if !j.ready() || j.waiting != nil || j.finished || j.w.s.Deciding() {
		return
	}
	if j.next == nil {
		j.take()
		return
	}
	next := j.next
	j.next = nil
	next()
	j.w.apply()
}
