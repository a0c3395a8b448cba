package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// desk is a run with one trainer rank whose log answers only when told to, and a client.
type desk struct {
	t       *testing.T
	s       *Scheduler
	answers map[Ticket]Answer
	pending []uint64 // entries that the rank has not confirmed
	lease   Lease
	grants  []Assignment
}

const (
	deskTrainer leases.Session = 20
	deskClient  leases.Session = 21
	deskWorker  leases.Session = 22
)

func newDesk(t *testing.T) *desk {
	s, err := New(Config{Source: leases.Source{Len: 100}, GroupSize: 1, BatchGroups: 1, Owner: 1, Verify: true, Policy: Policy{MaxStaleness: NoBound}})
	require.NoError(t, err)
	d := &desk{t: t, s: s, answers: map[Ticket]Answer{}}
	for _, m := range []Member{
		{Session: deskTrainer, Host: "h", Trainer: &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1}},
		{Session: deskClient, Host: "h", Client: true},
		{Session: deskWorker, Host: "h", Worker: &WorkerRole{Slots: 1}},
	} {
		_, err := s.Attach(m)
		require.NoError(t, err)
	}
	d.carry()
	return d
}

func (d *desk) carry() {
	for _, e := range d.s.Effects() {
		switch e := e.(type) {
		case Answer:
			d.answers[e.Ticket] = e
			if lease, ok := e.Value.(Lease); ok {
				d.lease = lease
			}
		case Append:
			d.pending = append(d.pending, e.Entry.Index)
		case Grant:
			d.grants = append(d.grants, e.Assignment)
		}
	}
}

// log confirms every entry that was sent.
func (d *desk) log() {
	for len(d.pending) > 0 {
		index := d.pending[0]
		d.pending = d.pending[1:]
		d.s.Appended(deskTrainer, index)
		d.carry()
	}
}

func (d *desk) commit(rollout int64) {
	d.finish()
	d.commitNext(rollout)
}

// finish reports success for what was granted last.
func (d *desk) finish() {
	a := d.grants[len(d.grants)-1]
	require.NoError(d.t, d.s.Terminal(a.Receipt, leases.Outcome{Kind: leases.Success, Slots: []int32{0}, Handle: leases.Handle(a.Receipt.Execution), Digest: [32]byte{1}}))
	d.carry()
}

func (d *desk) commitNext(rollout int64) {
	d.s.Take(Ticket(100+rollout), deskTrainer, rollout)
	d.carry()
	g := d.lease.Groups[0]
	p, err := d.s.Publish(d.lease.Admission, PublishRequest{Shards: [][]RowRange{{{Group: g.Receipt.Group, Handle: g.Handle, Rows: 1}}}, Roles: []RoleSize{{Role: "actor", WorldSize: 1}}})
	require.NoError(d.t, err)
	require.NoError(d.t, d.s.Admit(AdmitRequest{Admission: p.Admission, Digest: p.Digest, Role: "actor", Session: deskTrainer}))
	d.s.Commit(Ticket(200+rollout), p.Admission)
	d.carry()
	d.log()
	require.NoError(d.t, d.answers[Ticket(200+rollout)].Err)
}

// A rewind that comes while a version is on its way to the logs undoes the version too, when it contains what is undone.
func TestARewindUndoesAVersionThatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(0)
	d.s.BeginUpdate(1, deskClient, 1, InFlight, nil)
	d.carry()
	hold := d.answers[1].Value.(UpdateStart).Hold
	d.s.Record(2, hold)
	d.s.Rewind(3, -1)
	d.carry()
	d.log()
	require.NoError(t, d.answers[3].Err)
	require.Zero(t, d.s.Stats().Announced)
	require.ErrorIs(t, d.answers[2].Err, leases.ErrStale)
	require.Empty(t, d.s.holds)
	require.NoError(t, d.s.Verify())
}

// Every call that waits is answered, also when the run ends under it.
func TestACloseAnswersWhoWaitsForTheLogs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(0)
	d.s.BeginUpdate(1, deskClient, 1, InFlight, nil)
	d.carry()
	hold := d.answers[1].Value.(UpdateStart).Hold
	d.s.Undo(2, hold)
	d.s.Rewind(3, -1)
	d.s.Take(4, deskTrainer, 0)
	d.carry()
	d.s.Close(5, true)
	d.s.Advance(d.s.now + d.s.cfg.CloseGrace)
	d.carry()
	for ticket := Ticket(1); ticket <= 5; ticket++ {
		require.Contains(t, d.answers, ticket)
	}
	require.NoError(t, d.answers[5].Err)
}

// An owner that is replaced answers who waits, too.
func TestAReplacedOwnerAnswersWhoWaits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(0)
	d.s.BeginUpdate(1, deskClient, 1, InFlight, nil)
	d.carry()
	d.s.Undo(2, d.answers[1].Value.(UpdateStart).Hold)
	_, err := d.s.Attach(Member{Session: 9, Host: "h", Client: true, KnownTerm: leases.Term{Number: 5, Session: 9}})
	require.ErrorIs(t, err, leases.ErrReplaced)
	d.carry()
	require.ErrorIs(t, d.answers[2].Err, leases.ErrReplaced)
}

// An undo whose hold ends while the rewind is on its way to the logs is answered.
func TestAnUndoThatLosesItsHoldIsAnswered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(0)
	d.s.BeginUpdate(1, deskClient, 1, InFlight, nil)
	d.carry()
	d.s.Undo(2, d.answers[1].Value.(UpdateStart).Hold)
	d.s.Detach(deskClient, "ended")
	d.carry()
	d.log()
	require.ErrorIs(t, d.answers[2].Err, leases.ErrStale)
	require.Equal(t, int64(-1), d.s.ledger.LastRollout())
}

// A take that waits for a rollout that is passed over by a commit can never be committed: it is told so.
func TestATakeBelowTheLastCommitEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.s.Take(101, deskTrainer, 1)
	d.finish()
	d.s.Take(1, deskClient, 0)
	d.commitNext(1)
	d.finish()
	require.ErrorIs(t, d.answers[1].Err, leases.ErrConflict)
	require.ErrorContains(t, d.answers[1].Err, "rollout 0 is committed; the next one is 2")
}
