package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// simWorker is a worker's process: what it runs and holds survives the owner and ends with it.
type simWorker struct {
	w        *world
	session  leases.Session
	host     string
	slots    int
	engine   bool
	attached bool
	term     leases.Term
	box      []Effect // sent, not yet read
	runs     []*simRun
	holds    []*simRun // reported, not yet released

	confirmed int64
	line      leases.Timeline
}

type simRun struct {
	Held
	cancelled bool
	promise   int64
	// asked is the life of the owner that was asked for credit; nil when none has been, or the connection was cut since.
	asked *Scheduler
}

func (w *world) addWorker() {
	k := &simWorker{
		w: w, session: w.session(), host: fmt.Sprintf("h%d", w.pick(2, "host")), slots: 1 + w.pick(6, "slots"), engine: w.pick(4, "engine") > 0,
	}
	w.workers = append(w.workers, k)
	k.attach()
}

func (k *simWorker) inbox(e Effect) {
	if k.attached {
		k.box = append(k.box, e)
	}
}

// cut ends the connection: what was sent and not read is lost.
func (k *simWorker) cut() {
	k.attached, k.box = false, nil
	for _, r := range k.runs {
		r.asked = nil
	}
}

func (k *simWorker) lose() {
	k.w.trace("worker %s is cut off", k.session)
	k.cut()
	k.w.s.Detach(k.session, "cut off")
	k.w.apply()
}

func (k *simWorker) die() {
	k.w.trace("worker %s dies", k.session)
	k.w.workers = slices.DeleteFunc(k.w.workers, func(o *simWorker) bool { return o == k })
	k.cut()
	k.w.s.Detach(k.session, "died")
	k.w.apply()
}

func (k *simWorker) attach() {
	w := k.w
	role := &WorkerRole{Slots: k.slots, Engine: k.engine, Confirmed: k.confirmed, Timeline: k.line}
	for _, r := range slices.Concat(k.runs, k.holds) {
		held := r.Held
		if r.Outcome != nil {
			o := k.register(*r.Outcome, r.Receipt.Execution)
			held.Outcome = &o
		}
		role.Inventory = append(role.Inventory, held)
	}
	k.attached = true
	welcome, err := w.s.Attach(Member{Session: k.session, Host: k.host, Name: "worker", KnownTerm: k.term, LookedUp: true, Worker: role})
	require.NoError(w.t, err)
	k.term = welcome.Term
	w.trace("worker %s attached on %s, slots %d, engine %t, runs %d, holds %d, void %v", k.session, k.host, k.slots, k.engine, len(k.runs), len(k.holds), welcome.Void)
	for _, r := range welcome.Void {
		k.drop(r)
	}
	w.apply()
}

// register gives the data of a report one handle, however often it is reported, and counts its bytes.
func (k *simWorker) register(o leases.Outcome, execution uint64) leases.Outcome {
	w := k.w
	if o.Kind != leases.Success {
		return o
	}
	by := executed{execution, k.session}
	h, known := w.known[by]
	if !known {
		w.handles++
		h = w.handles
		w.known[by] = h
		w.data[h] = data{by, o.Bytes, k.host}
	}
	o.Handle = h
	return o
}

// stop tells what runs to end. What has finished is not concerned: it counts, or is released.
func (k *simWorker) stop(r leases.Receipt) {
	for _, run := range k.runs {
		if run.Receipt == r {
			run.cancelled = true
		}
	}
}

// drop ends a receipt that means nothing: what runs goes on until it can stop.
func (k *simWorker) drop(r leases.Receipt) {
	k.stop(r)
	k.holds = slices.DeleteFunc(k.holds, func(h *simRun) bool { return h.Receipt == r })
}

func (k *simWorker) deliver(n int) {
	for ; n > 0 && len(k.box) > 0; n-- {
		e := k.box[0]
		k.box = k.box[1:]
		switch e := e.(type) {
		case Grant:
			require.Equal(k.w.t, k.session, e.Assignment.Receipt.Worker)
			if !k.knows(e.Assignment.Receipt) {
				k.runs = append(k.runs, &simRun{Held: Held{Receipt: e.Assignment.Receipt, Version: e.Assignment.Version}, promise: e.Assignment.Promise})
			}
		case Carried:
			for _, run := range slices.Concat(k.runs, k.holds) {
				for _, r := range e.Receipts {
					if run.Receipt.Execution == r.Execution {
						run.Receipt = r
					}
				}
			}
		case Cancel:
			k.stop(e.Receipt)
		case Release:
			k.holds = slices.DeleteFunc(k.holds, func(h *simRun) bool { return h.Receipt == e.Receipt })
		}
	}
}

func (k *simWorker) knows(r leases.Receipt) bool {
	return slices.ContainsFunc(slices.Concat(k.runs, k.holds), func(h *simRun) bool {
		other := h.Receipt
		other.Timeline = r.Timeline // word of a carried receipt may be on its way
		return other == r
	})
}

func (k *simWorker) sampleDone(r *simRun, done int) {
	r.Done = max(r.Done, done)
	receipt, total := r.Receipt, r.Done
	k.w.send(func() {
		if err := k.w.s.SampleDone(receipt, total); err != nil {
			require.ErrorIs(k.w.t, err, leases.ErrStale)
		}
	})
}

// finish ends one execution and reports it.
func (k *simWorker) finish(r *simRun) {
	w := k.w
	if r.asked == w.s {
		return
	}
	o := &leases.Outcome{Kind: leases.Success, Bytes: int64(1 + w.pick(90, "size")), Tokens: 5, Digest: [32]byte{byte(r.Receipt.Group), byte(r.Receipt.Execution), 1}}
	for slot := range w.cfg.GroupSize {
		o.Slots = append(o.Slots, int32(slot))
	}
	if w.pick(2, "versions") == 0 {
		o.HasVersions, o.MinVersion, o.MaxVersion, o.SumVersions = true, r.Version, max(r.Version, k.confirmed), r.Version*int64(len(o.Slots))
	}
	kind := w.pick(20, "outcome")
	switch {
	case r.cancelled || !w.calm && kind < 2:
		o = &leases.Outcome{Kind: leases.Retry, Reason: "aborted"}
	case !w.calm && kind == 2:
		o = &leases.Outcome{Kind: leases.Failure, Reason: "raised"}
	case !w.calm && kind == 3:
		o = &leases.Outcome{Kind: leases.Discard, Reason: "zero_std"}
	case !w.calm && kind == 4:
		o.Slots = o.Slots[1:]
	case !w.calm && kind == 5:
		o.Aborted = 1
	}
	if o.Kind != leases.Success || r.promise == NoPromise || o.Bytes <= r.promise {
		k.report(r, o)
		return
	}
	r.asked = w.s
	w.trace("worker %s asks for %d bytes for %s", k.session, o.Bytes, r.Receipt)
	w.ask(func(t Ticket) {
		w.credits[t] = true
		w.s.Credit(t, []leases.Receipt{r.Receipt}, []int64{o.Bytes})
	}, func(_ any, err error) {
		if r.asked != w.s || !slices.Contains(k.runs, r) {
			return
		}
		if err != nil {
			o = &leases.Outcome{Kind: leases.Retry, Reason: err.Error()}
		}
		w.later = append(w.later, func() {
			if slices.Contains(k.runs, r) {
				k.report(r, o)
			}
		})
	})
	w.catchUp()
}

func (k *simWorker) report(r *simRun, o *leases.Outcome) {
	w := k.w
	r.Outcome = o
	k.runs = slices.DeleteFunc(k.runs, func(h *simRun) bool { return h == r })
	k.holds = append(k.holds, r)
	w.trace("worker %s finishes %s: %s", k.session, r.Receipt, o.Kind)
	copied := *r
	w.send(func() {
		if !k.attached {
			return
		}
		err := w.s.Terminal(copied.Receipt, k.register(*copied.Outcome, copied.Receipt.Execution))
		ok := err == nil || errors.Is(err, leases.ErrStale) || errors.Is(err, leases.ErrData) || errors.Is(err, leases.ErrNotReady)
		require.True(w.t, ok, "%v", err)
	})
}
