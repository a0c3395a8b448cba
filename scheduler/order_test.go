package scheduler

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// fleet is a run whose groups take times of a long tail: some end after a hundred others that began later.
type fleet struct {
	t       *testing.T
	rand    *rand.Rand
	s       *Scheduler
	cfg     Config
	now     int
	runs    []flight
	ticket  Ticket
	lease   *Lease // of the take that waits or has been answered
	rollout int64
	trained map[int64]bool
	worst   int64 // staleness of what was trained, in versions
	handle  leases.Handle
}

type flight struct {
	receipt leases.Receipt
	ends    int
}

const fleetWorker, fleetTrainer leases.Session = 21, 22

func newFleet(t *testing.T, seed uint64, cfg Config) *fleet {
	cfg.Owner, cfg.GroupSize, cfg.Verify, cfg.Prefetch = 1, 1, true, -1
	if cfg.Source.Len == 0 {
		cfg.Source = leases.Source{Len: 1 << 30}
	}
	s, err := New(cfg)
	require.NoError(t, err)
	s.Advance(0)
	f := &fleet{t: t, rand: rand.New(rand.NewPCG(seed, 0)), s: s, cfg: s.cfg, trained: map[int64]bool{}}
	_, err = s.Attach(Member{Session: fleetTrainer, Host: "t", Trainer: &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1}})
	require.NoError(t, err)
	_, err = s.Attach(Member{Session: fleetWorker, Host: "w", Worker: &WorkerRole{Slots: 8 + f.rand.IntN(40)}})
	require.NoError(t, err)
	f.carry()
	return f
}

func (f *fleet) carry() {
	for effects := f.s.Effects(); len(effects) > 0; effects = f.s.Effects() {
		for _, e := range effects {
			switch e := e.(type) {
			case Grant:
				long := 1 + f.rand.IntN(10)
				if f.rand.IntN(8) == 0 {
					long *= 40
				}
				f.runs = append(f.runs, flight{e.Assignment.Receipt, f.now + long})
			case Append:
				f.s.Appended(fleetTrainer, e.Entry.Index)
			case Answer:
				require.NoError(f.t, e.Err)
				if lease, ok := e.Value.(Lease); ok {
					f.lease = &lease
				}
			}
		}
	}
}

// tick ends the runs whose time has come; now and then one has to be done again.
func (f *fleet) tick() {
	f.now++
	runs := f.runs
	f.runs = nil
	for _, r := range runs {
		if r.ends > f.now {
			f.runs = append(f.runs, r)
			continue
		}
		f.handle++
		o := leases.Outcome{Kind: leases.Success, Slots: []int32{0}, Handle: f.handle, Digest: [32]byte{1}}
		if f.rand.IntN(20) == 0 {
			o = leases.Outcome{Kind: leases.Retry, Reason: "aborted"}
		}
		require.NoError(f.t, f.s.Terminal(r.receipt, o))
	}
	f.carry()
}

// step trains one batch, and announces a version when enough of them have been trained.
func (f *fleet) step() {
	f.ticket++
	f.lease = nil
	f.s.Take(f.ticket, fleetTrainer, f.rollout)
	f.carry()
	for idle := 0; f.lease == nil; idle++ {
		require.Less(f.t, idle, 5000, "a take waits for ever: %+v", f.s.Stats())
		f.tick()
	}
	lease := *f.lease
	announced := f.s.ledger.Version()
	shard := []RowRange{}
	for _, g := range lease.Groups {
		require.False(f.t, f.trained[g.Receipt.Group])
		f.trained[g.Receipt.Group] = true
		f.worst = max(f.worst, announced-g.MinVersion)
		shard = append(shard, RowRange{Group: g.Receipt.Group, Handle: g.Handle, Rows: g.Samples})
	}
	pub, err := f.s.Publish(lease.Admission, PublishRequest{Shards: [][]RowRange{shard}, Roles: []RoleSize{{Role: "actor", WorldSize: 1}}})
	require.NoError(f.t, err)
	require.NoError(f.t, f.s.Admit(AdmitRequest{Admission: pub.Admission, Digest: pub.Digest, Role: "actor", Session: fleetTrainer}))
	f.ticket++
	f.s.Commit(f.ticket, pub.Admission)
	f.carry()
	for range f.rand.IntN(6) {
		f.tick()
	}
	f.rollout++
	if f.rollout%int64(f.cfg.Policy.BatchesPerUpdate) == 0 {
		f.announce(announced + 1)
	}
}

func (f *fleet) announce(version int64) {
	var start UpdateStart
	f.ticket++
	f.s.BeginUpdate(f.ticket, fleetTrainer, version, InFlight, nil)
	for _, e := range f.s.Effects() {
		if a, ok := e.(Answer); ok {
			require.NoError(f.t, a.Err)
			start = a.Value.(UpdateStart)
		}
	}
	f.ticket++
	f.s.Record(f.ticket, start.Hold)
	f.carry()
}

var everyOrder = []Order{FIFO, LIFO, Windowed, Freshest}

func TestS4_12_PaceKeepsTheBoundOfEveryOrderAndDiscardsNothing(t *testing.T) {
	t.Parallel()
	for _, order := range everyOrder {
		for seed := range uint64(12) {
			f := newFleet(t, seed, Config{BatchGroups: 1 + int(seed%5), Policy: Policy{
				Order: order, Pace: true, MaxStaleness: int64(seed % 4), BatchesPerUpdate: 1 + int(seed%3), Window: 1 + int64(seed%9),
			}})
			for range 60 {
				f.step()
			}
			require.LessOrEqual(t, f.worst, f.cfg.Policy.MaxStaleness, "order %d seed %d", order, seed)
			require.Zero(t, f.s.Stats().StaleSettled, "nothing was too old: order %d seed %d", order, seed)
		}
	}
}

func TestS4_14_AWindowDelaysAGroupByNoMoreThanItsSize(t *testing.T) {
	t.Parallel()
	ceil := func(a, b int64) int64 { return (a + b - 1) / b }
	later := false
	for seed := range uint64(40) {
		window, ahead := 1+int64(seed%17), int64(20+seed%11)
		f := newFleet(t, seed, Config{BatchGroups: 4, Limits: Limits{Retained: ahead}, Policy: Policy{Order: Windowed, MaxStaleness: NoBound, Window: window}})
		for range 80 {
			f.step()
		}
		p := f.s.perVersion()
		require.LessOrEqual(t, f.worst, ceil(ahead, p)+ceil(window-1, p), "seed %d", seed)
		later = later || f.worst > 1
	}
	require.True(t, later, "the walk has slow groups")
}

func TestS4_14_AWindowOfOneTrainsInOrderOfDispatch(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, Config{BatchGroups: 4, Limits: Limits{Retained: 24}, Policy: Policy{Order: Windowed, MaxStaleness: NoBound, Window: 1}})
	last := uint64(0)
	for range 60 {
		f.step()
		executions := []uint64{}
		for _, g := range f.lease.Groups {
			executions = append(executions, g.Receipt.Execution)
		}
		for _, x := range executions {
			require.Greater(t, x, last, "a group of an earlier batch was dispatched after one of this batch")
		}
		for _, x := range executions {
			last = max(last, x)
		}
	}
}

func TestS4_16_TwoBatchesOfAnUpdateAreBothFilledOnPolicy(t *testing.T) {
	t.Parallel()
	for _, pace := range []bool{false, true} {
		f := newFleet(t, 3, Config{BatchGroups: 4, Policy: Policy{Pace: pace, MaxStaleness: 0, BatchesPerUpdate: 2}})
		for range 20 {
			f.step()
		}
		require.Zero(t, f.worst)
		if pace {
			require.Zero(t, f.s.Stats().StaleSettled)
		}
	}
}

func TestS4_18_OnPolicyWorksInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, order := range everyOrder {
		for _, full := range []Full{FullBlock, FullEvict} {
			f := newFleet(t, 5, Config{BatchGroups: 3, Policy: Policy{Order: order, Full: full, MaxStaleness: 0}})
			for range 40 {
				f.step()
			}
			require.Zero(t, f.worst)
		}
	}
}
