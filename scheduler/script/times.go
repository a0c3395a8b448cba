package script

import (
	"time"

	"outrider/leases"
	"outrider/scheduler"
)

// present is when the workers were lost while one is there.
const present time.Duration = -1

// request is an execution whose worker asked for leave to write that many bytes.
type request struct {
	run    run
	bytes  int64
	waited bool
}

// asks says that a call waits for leave to write.
func (a *account) asks(t scheduler.Ticket, x leases.Receipt, bytes int64) {
	a.credits[t] = append(a.credits[t], request{run: runOf(x), bytes: bytes})
	if c, ok := a.charged[runOf(x)]; ok {
		c.waiting++
		a.charged[runOf(x)] = c
	}
}

// waits says that the call was not answered at once.
func (a *account) waits(t scheduler.Ticket) {
	for i := range a.credits[t] {
		a.credits[t][i].waited = true
	}
}

// credited is the answer to that: the time of what waited begins anew, also when it waited in vain.
func (a *account) credited(e scheduler.Answer) {
	for _, q := range a.credits[e.Ticket] {
		c, ok := a.charged[q.run]
		if !ok {
			continue
		}
		c.waiting--
		if e.Err == nil {
			c.may = max(c.may, q.bytes)
		}
		if c.overdue == 0 && (q.waited || e.Err == nil) {
			c.since = a.r.now
		}
		a.charged[q.run] = c
	}
	delete(a.credits, e.Ticket)
}

// cancelled remembers when an execution was told to end because of its deadline.
func (a *account) cancelled(x leases.Receipt) {
	limit := a.r.deadline()
	if c, ok := a.charged[runOf(x)]; ok && limit != scheduler.Never && c.waiting == 0 && c.overdue == 0 && a.r.now-c.since >= limit {
		c.overdue = a.r.now
		a.charged[runOf(x)] = c
	}
}

func (r *Runner) deadline() time.Duration {
	if d := r.cfg.Times.ExecutionDeadline; d != 0 {
		return d
	}
	return time.Hour
}

func (r *Runner) grace() time.Duration {
	if d := r.cfg.Times.CancelGrace; d != 0 {
		return d
	}
	return 30 * time.Second
}

// checkTimes holds that what waits for the clock is woken: no execution keeps its group beyond deadline and grace, no take
// waits for longer than it may while nobody is there, and nothing that is due is left undone.
func (a *account) checkTimes(o *scheduler.Scheduler, st scheduler.Stats) {
	r := a.r
	if st.Timeline == (leases.Timeline{}) { // nothing runs before the base is known
		for id, c := range a.charged {
			c.since = r.now
			a.charged[id] = c
		}
	}
	at, armed := o.NextTimer()
	if armed && at <= r.now {
		r.broken("what was due %s ago has not happened", r.now-at)
	}
	if st.Closing && a.closing == present {
		a.closing = r.now
	}
	if end := a.closing + r.cfg.CloseGrace; st.Closing && !a.over && r.now < end && (!armed || at > end) {
		r.broken("the run closes until %s, and nothing will end that", end)
	}
	if a.over || st.Closing || st.Recovering {
		a.absent = present
		return
	}
	if limit := r.deadline(); limit != scheduler.Never {
		late := int64(0)
		for _, c := range a.charged {
			if c.lost == 0 && c.waiting == 0 && (c.overdue == 0 && r.now-c.since >= limit || c.overdue != 0 && r.now-c.overdue >= r.grace()) {
				late += c.samples
			}
		}
		if late > st.Stuck {
			r.broken("%d samples run beyond their deadline, %d of them are given up", late, st.Stuck)
		}
		if st.Executing > 0 && !armed {
			r.broken("%d groups run, and nothing will end them", st.Executing)
		}
	}
	if st.Workers > 0 || st.Executing > 0 {
		a.absent = present
	} else if a.absent == present {
		a.absent = r.now
	}
	if st.WaitingTakes == 0 {
		return
	}
	if limit := r.cfg.Times.JoinTimeout; limit > 0 && a.absent != present && r.now-a.absent >= limit {
		r.broken("%d takes wait, and no worker has been there for %s", st.WaitingTakes, r.now-a.absent)
	}
	if r.cfg.Times.StallWarning > 0 && !armed {
		r.broken("%d takes wait, and nothing will report that nothing comes", st.WaitingTakes)
	}
}
