package scheduler

import (
	"errors"
	"slices"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

func (j *job) holder() leases.Session { return j.ranks[0].session }

// take asks for the next rollout, unless it was taken ahead or something else is due between two steps.
func (j *job) take() {
	w := j.w
	next, err := w.s.NextRollout()
	require.NoError(w.t, err)
	require.Equal(w.t, j.at()+1, next, "the ledger and the weights are of one rollout")
	if lease := j.ahead; lease != nil {
		j.ahead = nil
		if lease.Rollout == next {
			j.took(*lease)
			return
		}
	}
	if w.calm && j.rebroadcast() || !w.calm && j.between() {
		return
	}
	j.takeNext()
}

func (j *job) takeNext() {
	j.ask("take", func(t Ticket) { j.w.s.Take(t, j.holder(), j.at()+1) }, func(v any, err error) {
		if errors.Is(err, leases.ErrEndOfRun) {
			j.finished = j.w.calm
			return
		}
		if err == nil {
			j.took(j.w.answered(v.(Lease)))
		}
	})
}

func (j *job) took(lease Lease) {
	w := j.w
	j.lease = lease
	require.Equal(w.t, j.at()+1, lease.Rollout)
	if !lease.Short {
		require.Len(w.t, lease.Groups, w.cfg.BatchGroups)
	}
	require.True(w.t, slices.IsSortedFunc(lease.Groups, func(a, b LeasedGroup) int { return int(a.Receipt.Group - b.Receipt.Group) }))
	j.phase = "took"
	switch a := w.pick(8, "with the lease"); {
	case a == 0 && !w.calm:
		j.next = func() { j.giveUp("on a whim") }
	case a == 1 && !w.calm && len(lease.Groups) > 0:
		j.next = j.discard
	default:
		j.next = j.publish
	}
}

// answered checks a lease at the moment that it is given.
func (w *world) answered(lease Lease) Lease {
	for _, g := range lease.Groups {
		require.False(w.t, w.released[g.Receipt], "%s was let go and is leased", g.Receipt)
		bound := w.cfg.Policy.MaxStaleness
		require.False(w.t, bound != NoBound && lease.Announced-g.MinVersion > bound, "group %d is too stale", g.Receipt.Group)
	}
	return lease
}

func (j *job) discard() {
	group := j.lease.Groups[j.w.pick(len(j.lease.Groups), "discarded")].Receipt.Group
	admission := j.lease.Admission
	j.ask("discard", func(t Ticket) {
		j.w.s.DiscardGroups(t, admission, []int64{group}, "filtered", j.w.pick(2, "shorter") == 0)
	}, func(v any, err error) {
		if err != nil {
			j.next = func() { j.giveUp("discard failed") }
			return
		}
		j.lease = v.(Lease)
		j.next = j.publish
	})
}

func (j *job) giveUp(why string) {
	_, err := j.w.s.Rollback(j.lease.Admission, why)
	j.w.trace("rollback %d (%s): %v", j.lease.Admission, why, err)
	require.NotErrorIs(j.w.t, err, leases.ErrConflict, "%v", err)
	j.next = nil
}

func (j *job) publish() {
	w := j.w
	var shard []RowRange
	for _, g := range j.lease.Groups {
		shard = append(shard, RowRange{Group: g.Receipt.Group, Handle: g.Handle, Rows: g.Samples})
	}
	p, err := w.s.Publish(j.lease.Admission, PublishRequest{Shards: [][]RowRange{shard}, Roles: []RoleSize{{Role: "actor", WorldSize: j.sizes}}, Generation: j.generation})
	w.trace("publish %d: %v", j.lease.Admission, err)
	if err != nil {
		j.giveUp("publish failed")
		return
	}
	j.pub = p
	if j.ahead == nil && w.pick(3, "prefetch") == 0 && w.cfg.Prefetch >= 0 {
		j.prefetch()
	}
	if j.sizes == 1 && w.pick(2, "alone") == 0 {
		j.next = j.commitAlone
		return
	}
	j.next = func() { j.admit(0) }
}

// commitAlone is admission and commit in one; the entry in the log is the answer, or what comes of the call.
func (j *job) commitAlone() {
	admission := j.lease.Admission
	proof := AdmitRequest{Admission: admission, Digest: j.pub.Digest, Role: "actor", Generation: j.generation, Session: j.holder()}
	j.alone = admission
	j.ask("commit", func(t Ticket) { j.w.s.CommitAdmitted(t, proof) }, func(v any, err error) {
		j.alone = 0
		j.committed(admission, v, err)
	})
}

// decided trains on what the only rank's log has decided.
func (j *job) decided(admission uint64) {
	if admission == 0 || j.alone != admission {
		return
	}
	j.w.trace("decided %d", admission)
	j.calls++
	j.alone, j.waiting = 0, nil
	j.train(j.lease.Groups)
}

// prefetch takes the next rollout while this one is open.
func (j *job) prefetch() {
	life, rollout := j.life, j.lease.Rollout+1
	j.w.ask(func(t Ticket) { j.w.s.Take(t, j.holder(), rollout) }, func(v any, err error) {
		if err == nil && j.life == life && j.at() < rollout {
			lease := j.w.answered(v.(Lease))
			j.ahead = &lease
		}
	})
}

func (j *job) admit(i int) {
	w := j.w
	a := AdmitRequest{Admission: j.lease.Admission, Digest: j.pub.Digest, Role: "actor", Rank: i, Generation: j.generation, Session: j.ranks[i].session}
	err := w.s.Admit(a)
	w.trace("admit %d by rank %d: %v", a.Admission, i, err)
	if err != nil {
		j.giveUp("admission failed")
		return
	}
	for _, g := range j.lease.Groups {
		k := w.find(g.Holder)
		require.True(w.t, k != nil && k.knows(g.Receipt), "the data of %s is gone while it is leased", g.Receipt)
	}
	w.past = append(w.past, func() { _ = w.s.Admit(a) })
	if i+1 < len(j.ranks) {
		j.next = func() { j.admit(i + 1) }
		return
	}
	j.next = j.commit
}

func (j *job) commit() {
	admission := j.lease.Admission
	j.ask("commit", func(t Ticket) { j.w.s.Commit(t, admission) }, func(v any, err error) { j.committed(admission, v, err) })
}

func (j *job) committed(admission uint64, v any, err error) {
	if err != nil {
		require.NotErrorIs(j.w.t, err, leases.ErrNotAdmitted, "%v", err)
		status, e := j.w.s.LeaseStatus(admission)
		require.False(j.w.t, e == nil && status.State == LeaseCommitted, "a commit that failed counts: %v", err)
		j.next = func() { j.giveUp("commit failed") }
		return
	}
	require.Equal(j.w.t, LeaseCommitted, v.(LeaseStatus).State)
	j.train(j.lease.Groups)
}

func (j *job) train(groups []LeasedGroup) {
	step := trained{rollout: j.lease.Rollout}
	for _, g := range groups {
		for _, before := range j.weights {
			require.NotContains(j.w.t, before.groups, g.Receipt.Group, "group %d is in the weights already", g.Receipt.Group)
		}
		step.groups = append(step.groups, g.Receipt.Group)
	}
	j.weights = append(j.weights, step)
}

// backTo puts the weights back to those after a rollout; what came after it exists no more.
func (j *job) backTo(rollout int64) {
	after := func(t trained) bool { return t.rollout > rollout }
	j.weights = slices.DeleteFunc(slices.Clone(j.weights), after)
	j.checkpoints = slices.DeleteFunc(j.checkpoints, func(c checkpoint) bool { return c.rollout > rollout })
	j.ahead = nil
}

// between does what a job may do between two steps; false for nothing.
func (j *job) between() bool {
	switch j.w.pick(8, "between steps") {
	case 0, 1:
		version := j.w.s.Stats().Announced + 1
		mode := Mode(j.w.pick(2, "mode"))
		j.ask("begin update", func(t Ticket) { j.w.s.BeginUpdate(t, j.holder(), version, mode) }, j.send)
	case 2:
		return j.rebroadcast()
	case 3:
		return j.save()
	case 4:
		if j.at() < 0 || j.w.pick(3, "rewind") > 0 {
			return false
		}
		to := j.at() - int64(j.w.pick(2, "back"))
		j.ask("rewind", func(t Ticket) { j.w.s.Rewind(t, to) }, func(v any, err error) {
			if err != nil {
				j.broken = true
				return
			}
			j.backTo(v.(RewindReport).Rollout)
		})
	default:
		return false
	}
	return true
}

func (j *job) save() bool {
	w := j.w
	if j.at() < 0 {
		return false
	}
	state, err := w.s.State(j.at())
	if errors.Is(err, leases.ErrConflict) {
		return false
	}
	require.NoError(w.t, err)
	again, err := leases.New(w.cfg.params(), leases.Term{Session: 1}, state)
	require.NoError(w.t, err)
	same, err := again.State(j.at())
	require.NoError(w.t, err)
	require.Equal(w.t, state, same)
	j.checkpoints = append(j.checkpoints, checkpoint{rollout: j.at(), weights: slices.Clone(j.weights), state: state})
	w.trace("saved %d", j.at())
	if w.pick(2, "saved") == 0 {
		require.NoError(w.t, w.s.Saved(j.at()))
	}
	return false
}

// rebroadcast brings engines up to date when that is needed.
func (j *job) rebroadcast() bool {
	if st := j.w.s.Stats(); st.Unconfirmed == 0 {
		return false
	}
	j.ask("rebroadcast", func(t Ticket) { j.w.s.Rebroadcast(t, j.holder()) }, j.send)
	return true
}

// nudge rebroadcasts while a take waits, as another thread of the job does when engines have joined.
func (j *job) nudge() {
	if st := j.w.s.Stats(); !j.ready() || j.w.s.Deciding() || j.phase != "take" && j.phase != "discard" || j.waiting == nil || st.Unconfirmed == 0 || st.Holds > 0 {
		return
	}
	j.w.ask(func(t Ticket) { j.w.s.Rebroadcast(t, j.holder()) }, func(v any, err error) {
		require.NoError(j.w.t, err)
		start := v.(UpdateStart)
		for _, session := range start.Engines {
			k := j.w.find(session)
			line, err := j.w.s.Confirm(session, start.Version, nil)
			require.NoError(j.w.t, err)
			k.confirmed, k.line = start.Version, line
		}
		j.w.ask(func(t Ticket) { j.w.s.Record(t, start.Hold, nil) }, func(_ any, err error) { require.NoError(j.w.t, err) })
	})
}

// send is the transfer of weights to the engines: some may not load them.
func (j *job) send(v any, err error) {
	if err != nil {
		return
	}
	w := j.w
	j.start = v.(UpdateStart)
	loaded := 0
	for _, session := range j.start.Engines {
		k := w.find(session)
		if k == nil || !k.attached || !w.calm && w.pick(5, "load fails") == 0 {
			continue
		}
		line, err := w.s.Confirm(session, j.start.Version, nil)
		require.NoError(w.t, err)
		k.confirmed, k.line = j.start.Version, line
		loaded++
	}
	start := j.start
	j.next = func() {
		switch a := w.pick(6, "update"); {
		case !w.calm && a == 0:
			if err := w.s.Release(start.Hold); err != nil {
				require.ErrorIs(w.t, err, leases.ErrStale)
			}
		case !w.calm && a == 1 && start.Version > w.s.Stats().Announced:
			j.ask("undo", func(t Ticket) { w.s.Undo(t, start.Hold) }, func(v any, err error) {
				if err != nil {
					j.broken = true
					return
				}
				j.backTo(v.(UpdateStart).Rollout)
				j.send(v, nil)
			})
		default:
			j.ask("record", func(t Ticket) { w.s.Record(t, start.Hold, nil) }, func(v any, err error) {
				if errors.Is(err, leases.ErrRefused) { // nobody loaded it: the hold stays until it is let go
					j.next = func() { _ = w.s.Release(start.Hold) }
				}
			})
		}
	}
}
