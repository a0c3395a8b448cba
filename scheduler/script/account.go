package script

import (
	"errors"
	"slices"
	"time"

	"outrider/leases"
	"outrider/scheduler"
)

// account recounts what one life of the owner must be charging and keeping, from nothing but what was said to it and what
// it answered. It knows none of the owner's structures.
type account struct {
	r *Runner
	// charged has the executions that a worker has not ended.
	charged map[run]charge
	// missed has those that a worker dialed again without, as it was when their grant was lost: they may be granted again.
	missed map[run]charge
	// kept is the data that was reported and not let go.
	kept map[leases.Handle]data
	// credits are the calls that wait for leave to write.
	credits map[scheduler.Ticket][]request
	// trespass is set once a worker wrote more than it had leave to.
	trespass bool
	losses   int              // of workers
	quiets   map[*process]int // losses when an engine last said quiet
	absent   time.Duration    // since when no worker is there
	closing  time.Duration    // since when the run closes
	over     bool             // this life answers no more
}

// charge is an execution on its worker's account: work counts until it is proven over.
type charge struct {
	receipt leases.Receipt
	// lines are the timelines that it was granted in, or carried over into.
	lines   []leases.Timeline
	samples int64
	since   time.Duration // when it began, or had leave to write
	overdue time.Duration // when it was told to end because of its deadline, 0 for never
	may     int64         // bytes that it may write, NoPromise for any number
	waiting int           // calls that ask for leave to write more
	// lost counts up the loss of its worker, at a time, when engines elsewhere may run it still; 0 before.
	lost   int
	at     time.Duration
	engine string
}

// is says whether a receipt is of this execution, in a timeline that it went through.
func (c charge) is(x leases.Receipt) bool {
	if !slices.Contains(c.lines, x.Timeline) {
		return false
	}
	x.Timeline = c.receipt.Timeline
	return x == c.receipt
}

type data struct {
	host  string
	bytes int64
	// columns were added by a stage to a group's data.
	columns bool
	// words are those of keepers that alone have told of it, and were not answered yet.
	words []scheduler.Ticket
}

func (r *Runner) count(o *scheduler.Scheduler) *account {
	a := r.accounts[o]
	if a == nil {
		a = &account{r: r, charged: map[run]charge{}, missed: map[run]charge{}, kept: map[leases.Handle]data{}, credits: map[scheduler.Ticket][]request{}, quiets: map[*process]int{}, absent: present, closing: present}
		r.accounts[o] = a
	}
	return a
}

func (a *account) granted(g scheduler.Assignment) {
	id := runOf(g.Receipt)
	if _, known := a.charged[id]; known {
		return
	}
	c, again := a.missed[id]
	if !again {
		c = a.charge(g.Receipt, g.Promise)
	}
	delete(a.missed, id)
	a.charged[id] = c
}

// offered is an execution whose samples have ended before it began.
func (a *account) offered(g scheduler.Assignment) {
	c := a.charge(g.Receipt, g.Promise)
	c.samples = 0
	a.charged[runOf(g.Receipt)] = c
}

func (a *account) charge(x leases.Receipt, may int64) charge {
	return charge{receipt: x, lines: []leases.Timeline{x.Timeline}, samples: int64(a.r.cfg.GroupSize), since: a.r.now, may: may}
}

func (a *account) sampleDone(x leases.Receipt, done int, err error) {
	c, ok := a.charged[runOf(x)]
	if ok && err == nil && c.is(x) && a.r.cfg.Policy.Submission == scheduler.BySample {
		c.samples = min(c.samples, int64(a.r.cfg.GroupSize-done))
		a.charged[runOf(x)] = c
	}
}

// reported is a terminal report with the owner's answer to it.
func (a *account) reported(p *process, x leases.Receipt, o leases.Outcome, err error) {
	for _, unheard := range []error{leases.ErrRefused, leases.ErrConflict, leases.ErrNotReady, leases.ErrClosed, leases.ErrReplaced} {
		if errors.Is(err, unheard) {
			return
		}
	}
	if c := a.charged[runOf(x)]; c.is(x) {
		a.writes(c, o)
		delete(a.charged, runOf(x))
	}
	a.keep(p, x, o)
}

// carried gives executions other timelines.
func (a *account) carried(receipts []leases.Receipt) {
	for _, x := range receipts {
		if c, ok := a.charged[runOf(x)]; ok {
			c.lines = append(slices.Clip(c.lines), x.Timeline)
			a.charged[runOf(x)] = c
		}
	}
}

// writes says what was written for an execution.
func (a *account) writes(c charge, o leases.Outcome) {
	a.trespass = a.trespass || o.Handle != 0 && c.may != scheduler.NoPromise && o.Bytes > c.may
}

func (a *account) keep(p *process, x leases.Receipt, o leases.Outcome) {
	if o.Handle == 0 || p == nil || p.gone {
		return
	}
	maker := a.r.bySession(x.Worker)
	a.kept[o.Handle] = data{host: p.member.Host, bytes: o.Bytes, columns: maker != nil && maker.stage() != ""}
	if i, known := a.r.places[runOf(x)]; known {
		oldest := a.r.executions[i].Version
		if o.HasVersions {
			oldest = o.MinVersion
		}
		a.r.oldest[runOf(x)] = oldest
	}
}

// released is data that is let go. What wrote it is over, though only who keeps it may have said so yet.
func (a *account) released(x leases.Receipt, h leases.Handle) (data, bool) {
	if a.charged[runOf(x)].is(x) {
		delete(a.charged, runOf(x))
	}
	d, ok := a.kept[h]
	delete(a.kept, h)
	return d, ok
}

// attached takes a worker's inventory over: what it does not bring, it does not run.
func (a *account) attached(p *process, w *scheduler.WorkerRole, err error) {
	if err != nil || w == nil {
		return
	}
	before := a.charged
	a.charged = map[run]charge{}
	for id, c := range before {
		if c.receipt.Worker == p.member.Session {
			a.missed[id] = c
		} else {
			a.charged[id] = c
		}
	}
	for _, h := range w.Inventory {
		delete(a.missed, runOf(h.Receipt))
		if h.Outcome != nil {
			delete(a.r.released, letGo{a.r.owner, h.Receipt}) // the word of that was lost with the connection
			if c, known := before[runOf(h.Receipt)]; known {
				a.writes(c, *h.Outcome)
			}
			a.keep(p, h.Receipt, *h.Outcome)
			continue
		}
		if w.Stage != "" {
			continue // nothing is charged for it
		}
		c, known := before[runOf(h.Receipt)]
		if !known {
			c = a.charge(h.Receipt, scheduler.NoPromise)
		}
		a.charged[runOf(h.Receipt)] = c
		a.sampleDone(h.Receipt, h.Done, nil)
	}
}

// detached ends what a lost worker ran, or leaves it to the engines that it used.
func (a *account) detached(o *scheduler.Scheduler, p *process) {
	w := p.member.Worker
	if w == nil {
		return
	}
	a.losses++
	for id, c := range a.charged {
		switch {
		case c.receipt.Worker != p.member.Session || c.lost > 0:
		case w.Uses == "" || c.samples == 0:
			delete(a.charged, id)
		default:
			c.lost, c.at, c.engine = a.losses, a.r.now, w.Uses
			a.charged[id] = c
		}
	}
	a.settleOrphans(o)
}

func (a *account) quiet(o *scheduler.Scheduler, p *process) {
	a.quiets[p] = a.losses
	a.settleOrphans(o)
}

// settleOrphans ends what every attached engine of its name is quiet about, or what has had its time.
func (a *account) settleOrphans(o *scheduler.Scheduler) {
	for id, c := range a.charged {
		if c.lost == 0 {
			continue
		}
		engines, loud := 0, 0
		for _, p := range a.r.procs {
			if e := p.member.Engine; e != nil && e.Name == c.engine && p.on == o && !p.gone {
				engines++
				if a.quiets[p] < c.lost {
					loud++
				}
			}
		}
		if engines > 0 && loud == 0 || a.r.now >= c.at+a.r.orphanTTL() {
			delete(a.charged, id)
		}
	}
}

func (a *account) ended(err error) {
	if !errors.Is(err, leases.ErrEndOfRun) {
		a.over = true
	}
}

func (a *account) samples() (n int64) {
	for _, c := range a.charged {
		n += c.samples
	}
	return n
}

// check compares the recount with what the owner says.
func (a *account) check(o *scheduler.Scheduler, st scheduler.Stats) {
	r := a.r
	a.settleOrphans(o)
	if a.over || st.Closing || st.Timeline == (leases.Timeline{}) {
		return
	}
	if n := a.samples(); n != st.ExecutingSamples {
		r.broken("%d samples are charged, %d are not proven over", st.ExecutingSamples, n)
	}
	if st.Unowned {
		return
	}
	n := int64(0)
	for _, d := range a.kept {
		if !d.columns {
			n++
		}
	}
	if n != st.Terminal+st.Completed+st.Leased {
		r.broken("the data of %d groups is kept, %d are terminal, completed or leased", n, st.Terminal+st.Completed+st.Leased)
	}
	if !r.frees {
		return
	}
	bytes, generated, most, bounded := map[string]int64{}, map[string]int64{}, int64(0), int64(0)
	for _, d := range a.kept {
		bytes[d.host] += d.bytes
		most = max(most, bytes[d.host])
		if !d.columns { // what a stage adds waits for no leave
			generated[d.host] += d.bytes
			bounded = max(bounded, generated[d.host])
		}
	}
	if limit := r.cfg.Limits.Bytes; limit > 0 && bounded > limit && st.Overdrawn+st.Adopted == 0 && !a.trespass {
		r.broken("%d bytes are on one host, bytes=%d", bounded, limit)
	}
	if most != st.Bytes {
		r.broken("%d bytes are counted on the fullest host, %d are there", st.Bytes, most)
	}
}

// granted is an execution number of one life of the owner, which gives each only once.
type granted struct {
	by        *scheduler.Scheduler
	execution uint64
}

// more is how many groups may leave the source beyond its end.
func (r *Runner) more() int64 {
	if r.cfg.Policy.Last == scheduler.LastNextEpoch {
		return r.cfg.Source.Len
	}
	return 0
}

// checkGrant holds a grant, or the answer to an offer, against the bounds, the source, and every grant before it.
func (r *Runner) checkGrant(from *scheduler.Scheduler, e scheduler.Grant, offered bool) {
	x, source := e.Assignment.Receipt, r.cfg.Source
	if source.Epochs > 0 && x.Group >= source.Len*source.Epochs+r.more() || !source.Shuffle && e.Assignment.Row != x.Group%source.Len {
		r.broken("group %d of row %d is not in the source", x.Group, e.Assignment.Row)
	}
	key := granted{from, x.Execution}
	before, again := r.grants[key]
	if again {
		if x.Timeline = before.Timeline; before != x { // it may have been carried over
			r.broken("execution %s is granted for two reservations", r.receipt(x))
		}
		r.count(from).granted(e.Assignment)
		return // after a reconnection
	}
	if p := r.bySession(x.Worker); p != nil && p.draining && p.on == from && !offered {
		r.broken("%s is granted to %s, which drains", r.receipt(x), p.name)
	}
	r.grants[key] = x
	a := r.count(from)
	a.granted(e.Assignment)
	if offered {
		return // nothing executes for it
	}
	st := from.Stats()
	if n, limit := a.samples()-st.Stuck, st.Limits.Executing; n > limit && !r.cfg.Unowned {
		r.broken("%s is granted with %d samples charged, executing=%d", r.receipt(x), n, limit)
	}
}
