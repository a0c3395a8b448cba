package scheduler

import (
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outrider/leases"
)

var walkTrace = flag.Bool("walk.trace", false, "log every action of a walk")

// world is a whole run around a scheduler: workers and a training job with memories of their own, an owner that can
// be replaced, and messages that come late, twice or not at all.
type world struct {
	t   *rapid.T
	s   *Scheduler
	cfg Config
	now time.Duration

	seed     uint64
	sessions leases.Session
	handles  leases.Handle
	workers  []*simWorker
	job      *job

	ticket Ticket
	asked  map[Ticket]func(any, error) // of this life of the owner; nil: nobody listens any more
	past   []func()                    // messages that may come again

	// Of this life of the owner.
	data     map[leases.Handle]data
	known    map[executed]leases.Handle
	released map[leases.Receipt]bool  // receipts that have been let go
	granted  map[uint64]time.Duration // by execution
	overdue  map[uint64]time.Duration // when an execution was cancelled at its deadline
	credits  map[Ticket]bool          // the calls of workers
	later    []func()                 // what was waited for has been answered
	calm     bool                     // no more faults: the run is to end
	ended    []error
}

// executed names an execution: lives of the owner that never met may give one number to two workers.
type executed struct {
	execution uint64
	worker    leases.Session
}

// data is what the owner's process knows of a report's data.
type data struct {
	execution executed
	bytes     int64
	host      string
}

func (w *world) config() Config {
	n := func(low, high int, name string) int { return low + w.pick(high-low+1, name) }
	c := Config{
		Source:    leases.Source{Len: int64(n(1, 24, "rows")), Epochs: int64(n(1, 2, "epochs")), Shuffle: true, Seed: 1},
		GroupSize: n(1, 4, "group_size"), BatchGroups: n(1, 4, "batch_groups"), Prefetch: n(-1, 1, "prefetch"),
		Policy: Policy{
			Submission: Submission(n(0, 1, "submission")), Order: Order(n(0, 3, "order")), Window: int64(n(0, 9, "window")), Last: Last(n(0, 1, "last_batch")), Stale: Stale(n(0, 1, "stale")),
			Full: Full(n(0, 1, "full")), MaxStaleness: int64(n(-1, 2, "max_staleness")), MaxAttempts: n(1, 3, "max_attempts"), MaxRequeues: n(1, 3, "max_requeues"), MaxFailed: 1 << 20,
		},
		Owner: 1, Verify: true,
	}
	if n(0, 1, "deadline") == 1 {
		c.Times = Times{ExecutionDeadline: time.Duration(n(2, 7, "execution_deadline")) * time.Second, CancelGrace: time.Duration(n(1, 3, "cancel_grace")) * time.Second}
	}
	if n(0, 1, "watch") == 1 {
		c.Times.StartDeadline = time.Duration(n(1, 9, "start_deadline")) * time.Second
		c.Times.JoinTimeout = time.Duration(n(1, 9, "join_timeout")) * time.Second
		c.Times.StallWarning = time.Duration(n(1, 9, "stall_warning")) * time.Second
	}
	least := int64(c.BatchGroups * (1 + max(c.Prefetch, 0)))
	if c.Prefetch == 0 {
		least = int64(2 * c.BatchGroups)
	}
	given := n(0, 15, "given")
	if given&1 > 0 {
		c.Limits.Completed = least + int64(n(0, 2, "completed"))
	}
	if given&2 > 0 {
		c.Limits.Retained = max(least, c.Limits.Completed) + int64(n(0, 3, "retained"))
	}
	if c.Policy.waits() && c.Limits.Completed > 0 {
		c.Limits.Retained = min(c.Limits.Retained, c.Limits.Completed)
	}
	if given&4 > 0 {
		c.Limits.Executing = int64(c.GroupSize + n(0, 5, "executing"))
	}
	if given&8 > 0 {
		c.Limits.Bytes = int64(4 * n(1, 99, "bytes"))
	}
	return c
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, sessions: 100, seed: rapid.Uint64().Draw(t, "seed")}
	w.cfg = w.config()
	w.trace("%+v", w.cfg)
	w.job = &job{w: w}
	w.own(false)
	return w
}

func (w *world) session() leases.Session { w.sessions++; return w.sessions }

// pick chooses 0 <= i < n, each alike: rapid's own draws favour small numbers.
func (w *world) pick(n int, what string) int {
	w.seed += 0x9e3779b97f4a7c15
	x := (w.seed ^ w.seed>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	i := int((x ^ x>>31) % uint64(n))
	w.trace("    %s: %d of %d", what, i, n)
	return i
}

func (w *world) trace(format string, args ...any) {
	if *walkTrace {
		w.t.Logf(format, args...)
	}
}

// own starts a life of the owner.
func (w *world) own(later bool) {
	cfg := w.cfg
	cfg.Owner, cfg.Recover = w.session(), later
	s, err := New(cfg)
	require.NoError(w.t, err)
	w.s, w.asked, w.credits = s, map[Ticket]func(any, error){}, map[Ticket]bool{}
	w.data, w.known, w.released = map[leases.Handle]data{}, map[executed]leases.Handle{}, map[leases.Receipt]bool{}
	w.granted, w.overdue = map[uint64]time.Duration{}, map[uint64]time.Duration{}
	s.Advance(w.now)
	w.apply()
}

// loseOwner kills the owner and starts another: every connection is cut, nothing that it knew is left but in its members.
func (w *world) loseOwner() {
	for _, k := range w.workers {
		k.cut()
	}
	w.job.cut()
	w.own(true)
}

// apply carries out effects: to the members' inboxes, to the waiting calls.
func (w *world) apply() {
	w.s.Advance(w.now)
	for effects := w.s.Effects(); len(effects) > 0; effects = w.s.Effects() {
		for _, e := range effects {
			w.effect(e)
		}
	}
	w.check()
}

// catchUp does what the answers to waiting calls let go on.
func (w *world) catchUp() {
	for len(w.later) > 0 {
		next := w.later[0]
		w.later = w.later[1:]
		next()
	}
}

func (w *world) effect(e Effect) {
	switch e := e.(type) {
	case Grant:
		if _, again := w.granted[e.Assignment.Receipt.Execution]; !again {
			w.granted[e.Assignment.Receipt.Execution] = w.now
		}
		w.worker(e.Session).inbox(e)
	case Carried:
		w.worker(e.Session).inbox(e)
	case Cancel:
		x := e.Receipt.Execution
		if since, ok := w.granted[x]; ok && w.s.cfg.Times.ExecutionDeadline != Never && w.now-since >= w.s.cfg.Times.ExecutionDeadline {
			if _, again := w.overdue[x]; !again {
				w.overdue[x] = w.now
			}
		}
		w.worker(e.Session).inbox(e)
	case Release:
		if k := w.find(e.Holder); k != nil && k.attached {
			w.released[e.Receipt] = true
			k.inbox(e)
		}
		if d, ok := w.data[e.Handle]; ok {
			delete(w.data, e.Handle)
			delete(w.known, d.execution)
			w.s.BytesReleased(d.host, d.bytes)
		}
	case Append:
		for _, session := range e.Sessions {
			w.job.rank(session).inbox(e)
		}
	case SetBase:
		for _, session := range e.Sessions {
			w.job.rank(session).inbox(e)
		}
	case Answer:
		got, ok := w.asked[e.Ticket]
		require.True(w.t, ok, "ticket %d is answered twice or was never given", e.Ticket)
		delete(w.asked, e.Ticket)
		require.NotEqual(w.t, e.Err == nil, e.Value == nil, "an answer has a value or an error: %+v", e)
		if got != nil {
			got(e.Value, e.Err)
		}
	case NewTerm:
		for _, k := range w.workers {
			k.term = e.Term
		}
		w.job.term = e.Term
	case Expel:
		w.trace("expelled %s: %v", e.Session, e.Err)
		w.job.broken = true
	case Ended:
		w.ended = append(w.ended, e.Err)
		require.True(w.t, e.Err == nil || errors.Is(e.Err, leases.ErrEndOfRun), "%v", e.Err)
	case Log:
		w.trace("  log %s %v", e.Msg, e.KV)
		require.Less(w.t, e.Level, Error, "%s %v", e.Msg, e.KV)
	}
}

// ask makes a waiting call; got runs with its answer unless the connection is cut before.
func (w *world) ask(call func(Ticket), got func(any, error)) {
	w.ticket++
	t := w.ticket
	w.asked[t] = got
	call(t)
	w.apply()
}

// check compares what the owner says with what the world knows.
func (w *world) check() {
	if w.s.ledger == nil || w.s.dead != nil {
		return
	}
	st := w.s.Stats()
	require.True(w.t, st.Books.Closed(), "%+v", st.Books)
	require.Equal(w.t, st.Retained, st.Books.Live.Groups)
	if w.cfg.Limits.Completed > 0 || !w.cfg.Policy.waits() { // else the limit follows the slots, and may have gone down
		require.LessOrEqual(w.t, st.Buffered, st.Limits.Completed+st.Adopted, "completed")
	}
	bytes := map[string]int64{}
	for _, d := range w.data {
		bytes[d.host] += d.bytes
	}
	live := map[string]int64{}
	for _, g := range w.s.ledger.Groups() {
		if g.State() >= leases.Terminal {
			live[w.data[g.Handle()].host] += g.Bytes()
		}
	}
	require.Equal(w.t, live, bytes, "data is kept that no group needs, or a group's data is not")
	w.checkTimes()
	for name, h := range w.s.hosts {
		require.Equal(w.t, bytes[name], h.written, "bytes on %s", name)
	}
}

// checkTimes holds that whatever waits for the clock will be woken, and that no execution keeps its group beyond deadline and grace.
func (w *world) checkTimes() {
	at, armed := w.s.NextTimer()
	if w.s.ledger.Resting() > 0 {
		require.True(w.t, armed && at <= w.now+longRest, "groups rest, and nothing wakes them")
	}
	times := w.s.cfg.Times
	if len(w.s.takes) > 0 && w.s.granting && w.s.closing == nil {
		require.True(w.t, armed && at > w.now, "a take waits, and nothing will report that nothing comes")
		if !slices.ContainsFunc(w.s.workers, (*member).canWork) && w.s.running.live == 0 {
			require.Less(w.t, w.now-w.s.live.absentSince, times.JoinTimeout, "a take waits, and nobody can fill it")
		}
	}
	for e := range w.s.running.all() {
		if times.ExecutionDeadline == Never || w.s.closing != nil {
			break
		}
		if !e.stuck {
			require.True(w.t, armed && at > w.now, "an execution runs, and nothing will end it")
		}
		since, ours := w.granted[e.receipt.Execution]
		cancelled, overdue := w.overdue[e.receipt.Execution]
		switch {
		case e.waitsToWrite(): // its time begins anew when it may
			w.granted[e.receipt.Execution] = w.now
		case e.group == nil || e.adopted: // adopted work begins its time anew
		case overdue:
			require.Less(w.t, w.now-cancelled, times.CancelGrace, "group %d waits for a worker that does not end it", e.receipt.Group)
		case ours:
			require.Less(w.t, w.now-since, times.ExecutionDeadline, "group %d runs beyond its deadline", e.receipt.Group)
		}
	}
}

func (w *world) find(session leases.Session) *simWorker {
	for _, k := range w.workers {
		if k.session == session {
			return k
		}
	}
	return nil
}

func (w *world) worker(session leases.Session) *simWorker {
	k := w.find(session)
	require.NotNil(w.t, k, "effect for session %s, which nobody has", session)
	return k
}

// send delivers a message, and remembers it so that it may come again.
func (w *world) send(message func()) {
	message()
	w.apply()
	w.past = append(w.past, message)
	if len(w.past) > 30 {
		w.past = w.past[1:]
	}
}

func (w *world) anyWorker(ok func(*simWorker) bool) *simWorker {
	var some []*simWorker
	for _, k := range w.workers {
		if ok(k) {
			some = append(some, k)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[w.pick(len(some), "worker")]
}

func isAttached(k *simWorker) bool { return k.attached }

// act does one thing that can happen in a run.
func (w *world) act() {
	defer w.catchUp()
	switch a := w.pick(100, "action"); {
	case a < 25:
		w.job.step()
	case a < 50:
		if k := w.anyWorker(isAttached); k != nil {
			k.deliver(1 + w.pick(3, "messages"))
		}
	case a < 70:
		if k := w.anyWorker(func(k *simWorker) bool { return k.attached && len(k.runs) > 0 }); k != nil {
			k.finish(k.runs[w.pick(len(k.runs), "run")])
		}
	case a < 73:
		if k := w.anyWorker(func(k *simWorker) bool { return k.attached && len(k.runs) > 0 }); k != nil {
			k.sampleDone(k.runs[w.pick(len(k.runs), "run")], w.pick(w.cfg.GroupSize+1, "done"))
		}
	case a < 85:
		w.job.deliver(1 + w.pick(3, "messages"))
	case a < 88:
		if len(w.past) > 0 {
			w.trace("again")
			w.past[w.pick(len(w.past), "message")]()
			w.apply()
		}
	case a < 90:
		w.now += time.Duration(w.pick(6, "seconds")) * time.Second
		w.apply()
	default:
		w.fault()
	}
}

func (w *world) fault() {
	switch w.pick(18, "fault") {
	case 0, 1:
		if len(w.workers) < 4 {
			w.addWorker()
		}
	case 2, 3:
		if k := w.anyWorker(func(*simWorker) bool { return true }); k != nil {
			k.die()
		}
	case 4:
		if k := w.anyWorker(isAttached); k != nil {
			k.lose()
		}
	case 5, 6:
		if k := w.anyWorker(func(k *simWorker) bool { return !k.attached }); k != nil {
			k.attach()
		}
	case 7:
		if k := w.anyWorker(isAttached); k != nil { // again, without the owner having noticed the cut
			k.cut()
			k.attach()
		}
	case 8:
		w.trace("the owner is lost")
		w.loseOwner()
	case 9:
		w.job.restart(w.pick(2, "latest") == 0)
	case 10:
		w.trace("everything but the workers is lost")
		w.job.die()
		w.loseOwner()
	case 11:
		w.job.lose(w.pick(2, "rank"))
	case 12:
		w.job.loseSidecar()
	case 13:
		if w.s.ledger != nil && w.s.dead == nil {
			_, err := w.s.CancelGroups([]int64{int64(w.pick(24, "group"))}, "a whim")
			require.NoError(w.t, err)
			w.apply()
		}
	case 14:
		if k := w.anyWorker(isAttached); k != nil {
			k.slots = w.pick(7, "slots")
			w.trace("worker %s sets slots %d", k.session, k.slots)
			require.NoError(w.t, w.s.SetSlots(k.session, k.slots))
			w.apply()
		}
	default:
		w.job.attach()
	}
}

// finish lets a run without further faults come to its end: it must, whatever has happened before.
func (w *world) finish() {
	w.calm = true
	for round := 0; !w.job.finished; round++ {
		if round == 3000 {
			w.t.Fatalf("stuck: %+v, job %+v", w.s.Stats(), w.job.phase)
		}
		if len(w.workers) == 0 || !slices.ContainsFunc(w.workers, func(k *simWorker) bool { return k.session > 0 }) {
			w.addWorker()
		}
		for _, k := range w.workers {
			k.slots = max(k.slots, 1)
			if !k.attached {
				k.attach()
			}
			require.NoError(w.t, w.s.SetSlots(k.session, k.slots))
			w.apply()
			k.deliver(len(k.box))
			for _, r := range slices.Clone(k.runs) {
				k.finish(r)
			}
			k.deliver(len(k.box))
		}
		w.job.attach()
		w.job.deliver(1 << 20)
		w.job.step()
		w.job.nudge()
		w.now += time.Second
		w.s.Advance(w.now)
		w.apply()
		w.catchUp()
	}
	w.job.deliver(1 << 20)
	var report CloseReport
	w.ask(func(t Ticket) { w.s.Close(t, false) }, func(v any, err error) {
		require.NoError(w.t, err)
		report = v.(CloseReport)
	})
	require.Empty(w.t, w.asked, "calls were never answered")
	w.proof(report)
}

// proof holds what the trainer's own lineage says against the account.
func (w *world) proof(report CloseReport) {
	b := report.Books
	require.True(w.t, b.Closed())
	require.Zero(w.t, b.Live.Groups)
	total := w.cfg.Source.Len * w.cfg.Source.Epochs
	require.Equal(w.t, total, b.Reserved.Groups, "every group of the source has settled")
	in := map[int64]bool{}
	for _, step := range w.job.weights {
		for _, group := range step.groups {
			require.False(w.t, in[group], "group %d is in the weights twice", group)
			in[group] = true
		}
	}
	require.Equal(w.t, b.Acknowledged.Groups, int64(len(in)), "the weights contain each acknowledged group")
	require.NotNil(w.t, report.State)
	require.NoError(w.t, leases.CheckState(w.cfg.params(), report.State))
}

// S3.16, S10.01–S10.03, S10.05: whatever happens, nothing is trained twice, nothing is lost, and the run ends.
func TestS3_16_WalksEndWithEveryGroupOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.addWorker()
		w.job.attach()
		for range rapid.SampledFrom([]int{20, 100, 400}).Draw(t, "actions") {
			w.act()
		}
		w.finish()
	})
}
