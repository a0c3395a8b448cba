package simulate

import (
	"errors"
	"fmt"

	"outrider/leases"
	"outrider/scheduler"
)

// take asks for the next rollout, unless it was taken ahead or something else is due between two steps.
func (j *job) take() {
	w := j.w
	w.do("proof %s", j.holder())
	if w.calm && j.announce() {
		return
	}
	if j.ahead != 0 {
		a, ok := w.r.Answer(j.ahead)
		if !ok && j.aheadAt == j.at()+1 { // it waits already; the same call again gets the same answer
			j.ahead = 0
			j.takeNext()
			return
		}
		j.ahead = 0
		if lease, given := a.Value.(scheduler.Lease); given && lease.Rollout == j.at()+1 {
			j.took(lease)
			return
		}
	}
	if w.calm && j.rebroadcast() || !w.calm && j.between() {
		return
	}
	j.takeNext()
}

// announce makes every batch a version, when the run is paced by versions.
func (j *job) announce() bool {
	if !j.w.pace || j.at() <= j.announced {
		return false
	}
	j.update("in-flight")
	return true
}

func (j *job) update(mode string) {
	j.ask(fmt.Sprintf("update %s version=%d mode=%s", j.holder(), j.w.stats().Announced+1, mode), j.send)
}

func (j *job) takeNext() {
	j.ask(fmt.Sprintf("take %s rollout=%d", j.holder(), j.at()+1), func(v any, err error) {
		if errors.Is(err, leases.ErrEndOfRun) {
			j.finished = j.w.calm
			return
		}
		if err == nil {
			j.took(v.(scheduler.Lease)) //nolint:forcetypeassert // what Take answers
		}
	})
}

func (j *job) took(lease scheduler.Lease) {
	j.lease = lease
	switch a := j.w.random.pick(8); {
	case a == 0 && !j.w.calm:
		j.next = func() { j.giveUp("whim") }
	case a == 1 && !j.w.calm && len(lease.Groups) > 0:
		j.next = j.discard
	default:
		j.next = j.publish
	}
}

func (j *job) admission() string { return j.w.r.Admission(j.lease.Admission) }

func (j *job) discard() {
	group := j.lease.Groups[j.w.random.pick(len(j.lease.Groups))].Receipt.Group
	shorter := ""
	if j.w.random.one(2) {
		shorter = " shorter"
	}
	j.ask(fmt.Sprintf("discard-groups %s groups=%d by=%s%s", j.admission(), group, j.holder(), shorter), func(v any, err error) {
		if err != nil {
			j.next = func() { j.giveUp("discard-failed") }
			return
		}
		j.lease = v.(scheduler.Lease) //nolint:forcetypeassert // what DiscardGroups answers
		j.next = j.publish
	})
}

func (j *job) giveUp(why string) { j.w.do("rollback %s reason=%s", j.admission(), why) }

func (j *job) publish() {
	w := j.w
	w.say(j.holder(), "publish %s roles=%s generation=%d", j.admission(), j.roles, j.generation)
	if w.r.Refused() != nil {
		j.giveUp("publish-failed")
		return
	}
	if j.ahead == 0 && w.prefetch > 0 && w.random.one(3) {
		j.aheadAt = j.lease.Rollout + 1
		w.do("take %s rollout=%d", j.holder(), j.aheadAt)
		j.ahead = w.r.Calls()
	}
	if len(j.ranks) == 1 && w.random.one(2) {
		j.next = func() { j.commit(" by=" + j.holder()) }
		return
	}
	j.next = func() { j.admit(0) }
}

func (j *job) admit(i int) {
	w := j.w
	w.say(j.ranks[i].name, "admit %s %s", j.admission(), j.ranks[i].name)
	switch {
	case w.r.Refused() != nil:
		j.giveUp("admission-failed")
	case i+1 < len(j.ranks):
		j.next = func() { j.admit(i + 1) }
	default:
		j.next = func() { j.commit("") }
	}
}

// commit lets the lease be decided. The weights step when the Runner says so: by the answer, or by the only rank's log.
func (j *job) commit(by string) {
	j.committed = true
	j.ask("commit "+j.admission()+by, func(_ any, err error) {
		j.committed = false
		if err != nil {
			j.next = func() { j.giveUp("commit-failed") }
		}
	})
}

// between does what a job may do between two steps; false for nothing.
func (j *job) between() bool {
	w := j.w
	switch w.random.pick(8) {
	case 0, 1:
		j.update(choose(w.random, "drain", "in-flight"))
	case 2:
		return j.rebroadcast()
	case 3:
		j.save()
		return false
	case 4:
		if j.at() < 0 || !w.random.one(3) {
			return false
		}
		to := j.at() - int64(w.random.pick(2))
		j.ask(fmt.Sprintf("rewind %d by=%s", to, j.holder()), func(v any, err error) {
			if err != nil {
				j.fail()
				return
			}
			j.backTo(v.(scheduler.RewindReport).Rollout) //nolint:forcetypeassert // what Rewind answers
		})
	default:
		return false
	}
	return true
}

// save keeps a checkpoint.
func (j *job) save() {
	w, at := j.w, j.at()
	if at < 0 || !j.ready() || w.r.Owner().Deciding() {
		return
	}
	name := fmt.Sprintf("p%d", len(w.commands))
	w.do("state %d as=%s of=%s", at, name, j.holder())
	if w.r.Refused() == nil {
		j.checkpoints = append(j.checkpoints, checkpoint{name, at})
	}
}

// saved lets the run forget what came before a checkpoint: the last one, or an earlier one.
func (j *job) saved() {
	if n := len(j.checkpoints); n > 0 && j.w.known() {
		j.w.do("saved %d", j.checkpoints[j.w.random.pick(n)].rollout)
	}
}

// rebroadcast brings engines up to date when that is needed.
func (j *job) rebroadcast() bool {
	if j.w.stats().Unconfirmed == 0 {
		return false
	}
	j.ask("rebroadcast "+j.holder(), j.send)
	return true
}

// send is the transfer of weights to the engines: some may not load them.
func (j *job) send(v any, err error) {
	if err != nil {
		return
	}
	w := j.w
	j.start = v.(scheduler.UpdateStart) //nolint:forcetypeassert // what BeginUpdate, Rebroadcast and Undo answer
	for _, name := range j.processes(j.start.Engines) {
		if w.r.View(name).Attached && (w.calm || !w.random.one(5)) {
			w.say(name, "confirm %s version=%d", name, j.start.Version)
		}
	}
	j.next = j.endUpdate
}

func (j *job) endUpdate() {
	w, start, hold := j.w, j.start, j.w.r.Hold(j.start.Hold)
	switch a := w.random.pick(6); {
	case !w.calm && a == 0:
		w.do("release %s", hold)
	case !w.calm && a == 1 && j.start.Version > w.stats().Announced:
		j.ask(fmt.Sprintf("undo %s by=%s", hold, j.holder()), func(v any, err error) {
			if err != nil {
				j.fail()
				return
			}
			j.backTo(v.(scheduler.UpdateStart).Rollout) //nolint:forcetypeassert // what Undo answers
			j.send(v, nil)
		})
	default:
		j.ask(fmt.Sprintf("record %s by=%s", hold, j.holder()), func(_ any, err error) {
			j.recorded(start, err)
			if errors.Is(err, leases.ErrUpdateFailed) { // nobody loaded it: the hold stays until it is let go
				j.next = func() { w.do("release %s", hold) }
			}
		})
	}
}

// recorded remembers which rollout the announced weights contain.
func (j *job) recorded(start scheduler.UpdateStart, err error) {
	if err == nil {
		j.announced = max(j.announced, start.Rollout)
	}
}

// nudge brings weights to the engines while a take waits, as another thread of the job does: to those that have joined, or
// to all, when the run is paced by versions and the weights are of a later rollout than the last one.
func (j *job) nudge() {
	w := j.w
	if w.failure != "" || !j.ready() || j.call == 0 || w.r.Owner().Deciding() {
		return
	}
	if a, ok := w.r.Answer(j.nudged.call); ok && j.nudged.call != 0 {
		j.recorded(j.nudged.start, a.Err)
		j.nudged = nudged{}
	}
	st := w.stats()
	paced := w.pace && j.announced < j.at()
	switch {
	case st.WaitingTakes == 0 || st.Holds > 0:
		return
	case st.Unconfirmed > 0:
		w.do("rebroadcast %s", j.holder())
	case paced:
		w.do("update %s version=%d mode=in-flight", j.holder(), st.Announced+1)
	default:
		return
	}
	a, ok := w.r.Answer(w.r.Calls())
	start, given := a.Value.(scheduler.UpdateStart)
	if !ok || !given {
		return
	}
	for _, name := range j.processes(start.Engines) {
		if w.r.View(name).Attached {
			w.do("confirm %s version=%d", name, start.Version)
		}
	}
	w.do("record %s by=%s", w.r.Hold(start.Hold), j.holder())
	j.nudged = nudged{w.r.Calls(), start}
}
