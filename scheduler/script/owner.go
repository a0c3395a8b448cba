package script

import (
	"strings"
	"time"

	"outrider/leases"
	"outrider/scheduler"
)

// pick reads a word that must be one of the given ones and returns its place among them.
func (a *args) pick(key string, words ...string) uint8 {
	v := a.text(key, words[0])
	for i, w := range words {
		if v == w {
			return uint8(i)
		}
	}
	panic(usage("%s=%s is none of %v", key, v, words))
}

// seconds reads a span of time; absent is 0, the product's default, and "never" is none.
func seconds(a *args, key string) time.Duration {
	if a.text(key, "") == "never" {
		return scheduler.Never
	}
	return time.Duration(a.number(key, 0)) * time.Second
}

// told is seconds for what a story has to ask for: absent is none.
func told(a *args, key string) time.Duration {
	if !a.has(key) {
		return scheduler.Never
	}
	return seconds(a, key)
}

func (r *Runner) cmdOwner(a *args) {
	prefetch := int(a.number("prefetch", 0))
	if prefetch == 0 {
		prefetch = -1 // none; 0 would be the default of the product
	}
	c := scheduler.Config{
		Source: leases.Source{
			Len: a.number("len", 100), Epochs: a.number("epochs", 0), Shuffle: a.flag("shuffle"), Seed: uint64(a.number("seed", 0)),
			Identity: [32]byte{byte(a.number("content", 1))}, Keyed: a.flag("keyed"),
		},
		GroupSize: int(a.number("group-size", 2)), BatchGroups: int(a.number("batch", 2)), Prefetch: prefetch,
		BatchSamples: a.number("batch-samples", 0), BatchTokens: a.number("batch-tokens", 0),
		Limits: scheduler.Limits{
			Executing: a.number("executing", 0), Retained: a.number("retained", 0), Completed: a.number("completed", 0), Bytes: a.number("bytes", 0),
		},
		Policy: scheduler.Policy{
			Submission: scheduler.Submission(a.pick("submission", "sample", "group")), Order: scheduler.Order(a.pick("order", "fifo", "lifo", "windowed", "freshest")),
			Window: a.number("window", 0), Pace: a.flag("pace"), BatchesPerUpdate: int(a.number("batches-per-update", 0)), Last: scheduler.Last(a.pick("last-batch", "short", "drop", "next-epoch")),
			MaxStaleness: a.number("max-staleness", scheduler.NoBound), Stale: scheduler.Stale(a.pick("stale", "requeue", "drop")),
			Full: scheduler.Full(a.pick("full", "block", "evict")), MaxAttempts: int(a.number("max-attempts", 0)),
			MaxRequeues: int(a.number("max-requeues", 0)),
			MaxFailed:   a.number("max-failed", 0), RefuseRewind: a.pick("rewind", "allow", "refuse") == 1,
			WaitCommit: a.flag("wait-commit"),
		},
		Times: scheduler.Times{
			ExecutionDeadline: seconds(a, "execution-deadline"), CancelGrace: seconds(a, "cancel-grace"), OrphanTTL: seconds(a, "orphan-ttl"),
			StartDeadline: told(a, "start-deadline"), JoinTimeout: told(a, "join-timeout"), StallWarning: told(a, "stall-warning"), HeldWarning: seconds(a, "held-warning"),
		},
		Unowned:    a.pick("ownership", "leases", "none") == 1,
		JoinWindow: time.Duration(a.number("join-window", 5)) * time.Second, CloseGrace: time.Duration(a.number("close-grace", 10)) * time.Second,
		Verify: true,
	}
	if a.flag("stream") {
		c.Source = leases.StreamSource([32]byte{byte(a.number("content", 1))})
	}
	if a.flag("pulled") {
		c.Source = leases.PulledSource([32]byte{byte(a.number("content", 1))})
	}
	r.supplied = a.number("len", 100)
	c.Waiting = a.number("waiting", 0)
	if names := a.text("stages", ""); names != "" {
		c.Stages = strings.Split(names, ",")
	}
	if name := a.text("state", ""); name != "" {
		c.State = r.checkpoint(name).state
	}
	r.cfg, r.frees = c, a.flag("frees")
	// Another run: its ids count from the start again.
	for _, p := range r.procs {
		p.gone = true
	}
	r.former = nil
	r.executions, r.places, r.byID, r.admissions, r.holds = nil, map[run]int{}, map[uint64]int{}, nil, nil
	r.admitted, r.admissionsOf = map[uint64][]*process{}, map[uint64]map[leases.Rank]leases.AdmitRequest{}
	r.given, r.pubs = map[uint64]scheduler.Lease{}, map[uint64]scheduler.Publication{}
	r.accounts, r.grants, r.oldest = map[*scheduler.Scheduler]*account{}, map[granted]leases.Receipt{}, map[run]int64{}
	r.start()
}

// start begins the next life of the owner.
func (r *Runner) start() {
	r.lives++
	r.cfg.Owner = leases.Session(ownerSessions + r.lives)
	r.sessions[r.cfg.Owner] = "owner" + string(rune('0'+r.lives%10))
	s, err := scheduler.New(r.cfg)
	r.owner = nil
	if err != nil {
		r.result(err, "")
		return
	}
	r.owner = s
	r.clock = r.now // The clock of a life of its own.
	s.Advance(r.clock)
}

func (r *Runner) cmdKillOwner(*args) {
	r.cut(r.owner)
	if r.owner == r.former {
		r.former = nil
	}
	r.owner = nil
}

func (r *Runner) cmdRestartOwner(a *args) {
	if a.flag("beside") {
		r.cut(r.former)
		r.former = r.owner
	} else {
		r.cut(r.owner)
	}
	r.cfg.Recover = true
	r.start()
}

func (r *Runner) cmdState(a *args) {
	at := number(a.word("a rollout"))
	b, err := r.owner.State(at)
	c := checkpoint{rollout: at, state: b}
	if name := a.text("of", ""); name != "" {
		for _, step := range r.find(name).lineage {
			if step.rollout <= at {
				c.lineage = append(c.lineage, step)
			}
		}
	}
	if err == nil {
		r.checkState(b, at)
		if a.flag("damaged") {
			c.state[len(c.state)/2] ^= 1
		}
		r.states[a.text("as", "")] = c
	}
	r.result(err, "state of rollout %d", at)
	a.used["as"] = true
}

func (r *Runner) checkpoint(name string) checkpoint {
	c, ok := r.states[name]
	if !ok {
		panic(usage("no state was kept as %s", name))
	}
	return c
}

func (r *Runner) cmdSaved(a *args) { r.result(r.owner.Saved(number(a.word("a rollout"))), "") }

func (r *Runner) cmdRewind(a *args) {
	t := r.calls(r.by(a))
	r.backs[t] = !a.flag("alone")
	r.owner.Rewind(t, number(a.word("a rollout")))
}

func (r *Runner) cmdNextRollout(*args) {
	n, err := r.owner.NextRollout()
	r.result(err, "%d", n)
}

func (r *Runner) cmdClose(a *args) { r.owner.Close(r.ticket(), a.flag("force")) }

// orphanTTL is how long the work of lost workers counts, the product's default when the story says nothing.
func (r *Runner) orphanTTL() time.Duration {
	if ttl := r.cfg.Times.OrphanTTL; ttl > 0 {
		return ttl
	}
	return 10 * time.Minute
}
