package sidecar

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// noSupply is a data source that never answers.
type noSupply struct{}

func (noSupply) acquire(*wire.Pull, func(*wire.Frame))     {}
func (noSupply) recover(*wire.GiveBack, func(*wire.Frame)) {}

// ownerAlone is an owner whose loop is the test's own: what is posted runs in turn, and what it says is heard.
type ownerAlone struct {
	*owner
	t     require.TestingT
	heard *heard
	said  map[uint64]*wire.Frame // answers, by question

	log       *rankLog // of session 11
	granted   []*wire.Receipt
	ended     []*wire.Held
	update    *wire.UpdateState
	segments  uint64
	lease     *wire.Lease
	published *wire.Publication
}

// newOwnerAlone fails where a configuration cannot work.
func newOwnerAlone(t require.TestingT, own *wire.Own, table *arrowio.Segment, heard *heard) (*ownerAlone, error) {
	decided, err := schedulerConfig(own, table, 1)
	if err != nil {
		return nil, err
	}
	decides, err := scheduler.New(decided)
	if err != nil {
		return nil, err
	}
	access, err := bridge.NewAccess(testRun)
	require.NoError(t, err)
	o := ownerOf(hclog.NewNullLogger(), testRun, noSupply{}, decides, decided.Source)
	o.cancel, o.table = func() {}, &wire.Joined{}
	o.server = bridge.NewOwnerServer(access, o.accept)
	decides.Advance(0)
	alone := &ownerAlone{owner: o, t: t, heard: heard, said: map[uint64]*wire.Frame{}, log: newRankLog(&wire.TrainerRole{StateAt: -1})}
	alone.turn()
	return alone, nil
}

// turn does what a turn of the loop does, until nothing is left.
func (o *ownerAlone) turn() {
	o.settle()
	for len(o.loop.tasks) > 0 {
		tasks := o.loop.tasks
		o.loop.tasks = nil
		for _, task := range tasks {
			task()
		}
		o.settle()
	}
}

// attach joins a session. Entries of a log are there as soon as they are sent.
func (o *ownerAlone) attach(join *wire.Join) {
	a := &attached{session: leases.Session(join.GetSession()), join: join}
	a.out = newOutbox(func(frame *wire.Frame, _ []int) bool {
		o.learn(frame)
		switch {
		case frame.GetAnswer():
			o.said[frame.GetId()] = frame
			require.NotEqual(o.t, string(bridge.Internal), frame.GetError().GetKind(), "%s", frame.GetError().GetMessage())
		case frame.GetAppend() != nil || frame.GetSetBase() != nil:
			if a.session == 11 && frame.GetAppend() != nil {
				o.log.append(frame.GetAppend().GetEntry())
			} else if a.session == 11 {
				o.log.setBase(frame.GetSetBase())
			}
			o.post(func() { o.event(a, &wire.Frame{Id: frame.GetId(), Answer: true}) })
		}
		return true
	}, nil, nil)
	o.owner.attach(a, 1)
	o.turn()
}

func (o *ownerAlone) close() {
	for _, a := range o.attached {
		a.out.close()
	}
}

func (o *ownerAlone) say(session leases.Session, frame *wire.Frame) {
	if a := o.attached[session]; a != nil {
		o.event(a, frame)
	}
	o.turn()
}

// overTheWire is a frame as it comes off the wire.
func overTheWire(t require.TestingT, frame *wire.Frame) *wire.Frame {
	data, err := proto.Marshal(frame)
	require.NoError(t, err)
	arrived := &wire.Frame{}
	require.NoError(t, proto.Unmarshal(data, arrived))
	return arrived
}

// rightly are frames as members say them in a run in which nothing goes wrong, each after what it follows from.
func (o *ownerAlone) rightly(t *rapid.T) (leases.Session, *wire.Frame) {
	shard := &wire.Shard{}
	for _, group := range o.lease.GetGroups() {
		shard.Locators = append(shard.Locators, group.GetLocator())
		shard.Groups = append(shard.Groups, group.GetGroup())
		shard.Attempts = append(shard.Attempts, group.GetAttempt())
	}
	stats, version := o.stats(), o.stats().GetAnnouncedVersion()
	switch step := rapid.IntRange(0, 24).Draw(t, "step"); {
	case step < 8 && len(o.granted) > 0:
		receipt := o.granted[0]
		o.granted = o.granted[1:]
		o.ended = append(o.ended, &wire.Held{Receipt: receipt, Outcome: o.success(receipt)})
		return leases.Session(receipt.GetWorker()), &wire.Frame{Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: []*wire.Outcome{o.ended[len(o.ended)-1].GetOutcome()}}}}
	case step == 8 && o.lease != nil:
		return 11, &wire.Frame{Body: &wire.Frame_Publish{Publish: &wire.Publish{
			Admission: o.lease.GetAdmission(), Shards: []*wire.Shard{shard}, Roles: map[string]uint32{"trainer": 1}, Generation: 0,
		}}}
	case step == 9 && o.published != nil:
		return 11, &wire.Frame{Body: &wire.Frame_Admit{Admit: &wire.Admit{Publication: o.published, Role: "trainer"}}}
	case step == 10 && o.published != nil:
		return 11, &wire.Frame{Body: &wire.Frame_Commit{Commit: &wire.Commit{Admission: o.published.GetAdmission()}}}
	case step == 11 && o.lease != nil:
		return 11, &wire.Frame{Body: &wire.Frame_Rollback{Rollback: &wire.Rollback{Admission: o.lease.GetAdmission()}}}
	case step == 12 && o.lease != nil && len(o.lease.GetGroups()) > 0:
		return 11, &wire.Frame{Body: &wire.Frame_DiscardGroups{DiscardGroups: &wire.DiscardGroups{
			Admission: o.lease.GetAdmission(), Groups: []int64{o.lease.GetGroups()[0].GetGroup()}, Reason: "zero_std",
		}}}
	case step == 13:
		return 14, &wire.Frame{Body: &wire.Frame_Push{Push: &wire.Push{Ids: [][]byte{{byte(o.segments)}}, Digests: [][]byte{make([]byte, 16)}, Rows: [][]byte{{1}}}}}
	case step == 14:
		return 12, &wire.Frame{Body: &wire.Frame_Offer{Offer: &wire.Offer{Id: []byte{byte(o.segments), 1}, Digest: make([]byte, 16), Row: []byte{1}}}}
	case step == 15:
		return 14, &wire.Frame{Body: &wire.Frame_BeginUpdate{BeginUpdate: &wire.BeginUpdate{Version: version + 1, Mode: "in_flight"}}}
	case step == 16 && o.update != nil:
		return 12, &wire.Frame{Body: &wire.Frame_Confirm{Confirm: &wire.Confirm{Version: o.update.GetVersion()}}}
	case step == 17 && o.update != nil:
		return 14, &wire.Frame{Body: &wire.Frame_RecordUpdate{RecordUpdate: &wire.RecordUpdate{Hold: o.update.GetHold()}}}
	case step == 18 && o.update != nil:
		return 14, &wire.Frame{Body: &wire.Frame_UndoUpdate{UndoUpdate: &wire.UndoUpdate{Hold: o.update.GetHold()}}}
	case step == 19:
		return 14, &wire.Frame{Body: &wire.Frame_Rewind{Rewind: &wire.Rewind{Rollout: stats.GetNextRollout() - 2}}}
	case step == 20:
		return 11, &wire.Frame{Body: &wire.Frame_Restored{Restored: &wire.Restored{Rollout: stats.GetNextRollout() - 1}}}
	case step == 21:
		return 14, &wire.Frame{Body: &wire.Frame_GetState{GetState: &wire.GetState{Rollout: stats.GetNextRollout() - 1}}}
	case step == 22:
		return 14, &wire.Frame{Body: &wire.Frame_Saved{Saved: &wire.Saved{Rollout: stats.GetNextRollout() - 1}}}
	case step == 23 && len(o.ended) > 0:
		return 15, &wire.Frame{Body: &wire.Frame_Kept{Kept: &wire.Kept{Held: o.ended[max(0, len(o.ended)-3):]}}}
	default:
		return 11, &wire.Frame{Body: &wire.Frame_Take{Take: &wire.Take{Rollout: stats.GetNextRollout()}}}
	}
}

// success is an outcome whose data is where nothing else is.
func (o *ownerAlone) success(receipt *wire.Receipt) *wire.Outcome {
	o.segments++
	return &wire.Outcome{
		Receipt: receipt, Kind: "success", Locator: &wire.Locator{Segment: &wire.SegmentId{Holder: receipt.GetWorker(), Number: o.segments}, Rows: 2},
		Summary: &wire.Summary{Slots: []int32{0, 1}, Lengths: []int32{3, 3}, Tokens: 6, Bytes: 100},
	}
}

// learn keeps what rightly needs.
func (o *ownerAlone) learn(frame *wire.Frame) {
	frame = overTheWire(o.t, frame)
	o.heard.hear(frame.ProtoReflect())
	if receipts, err := toReceipts(frame.GetGrant().GetReceipts()); err == nil {
		for i := range receipts {
			o.granted = append(o.granted, &receipts[i])
		}
	}
	if stage := frame.GetStageGrant(); stage != nil {
		o.granted = append(o.granted, stage.GetReceipt())
	}
	if lease := frame.GetLease(); lease != nil {
		o.lease, o.published = lease, nil
	}
	if published := frame.GetPublication(); published != nil {
		o.published = published
	}
	if committed := frame.GetCommitted(); committed != nil {
		o.log.committed(committed.GetRollout())
	}
	if update := frame.GetUpdateState(); update != nil {
		o.update = update
	}
}

// converse has members say up to 200 things, rightly and otherwise.
func (o *ownerAlone) converse(t *rapid.T, any anyMessage) {
	for range rapid.IntRange(1, 200).Draw(t, "frames") {
		session, drawn := leases.Session(rapid.Uint64Range(11, 15).Draw(t, "session")), &wire.Frame{}
		switch how := rapid.IntRange(0, 3).Draw(t, "how"); how {
		case 0:
			any.fill(drawn.ProtoReflect(), 5)
		case 1:
			session, drawn = o.rightly(t)
			drawn = proto.CloneOf(drawn)
			any.spoil(drawn.ProtoReflect())
		default:
			session, drawn = o.rightly(t)
		}
		frame := overTheWire(t, drawn)
		if join := frame.GetJoin(); join != nil {
			t.Logf("joins %v", join)
			if join.KnownTerm = nil; join.GetSession() != 0 && join.GetEndpoint() != nil { // a later one would rightly end this owner
				o.attach(join)
			}
			continue
		}
		t.Logf("%d says %v", session, frame)
		o.say(session, frame)
	}
}

func TestAnOwnerStandsWhateverItsMembersSay(t *testing.T) {
	t.Setenv("OUTRIDER_VERIFY", "all")
	table := arrowtest.Table(t, 8)
	defer table.Close()
	rapid.Check(t, func(t *rapid.T) {
		heard := &heard{parts: map[protoreflect.FullName][]proto.Message{}}
		any := anyMessage{t, heard}
		config := testConfig()
		config.Ownership = rapid.SampledFrom([]string{"leases", "leases", "none"}).Draw(t, "ownership")
		owned := config.GetOwnership() == "leases"
		if owned && rapid.Bool().Draw(t, "stream") {
			config.Source = &wire.Source{Kind: "stream", Identity: make([]byte, 32), Waiting: 8}
		}
		if owned && rapid.Bool().Draw(t, "stages") {
			config.Stages = []string{"judge"}
		}
		o, err := newOwnerAlone(t, &wire.Own{Run: testRun, Config: config}, table, heard)
		require.NoError(t, err)
		defer o.close()
		o.attach(&wire.Join{Session: 11, Endpoint: &wire.Endpoint{Session: 11, Host: "here"}, Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, StateAt: -1}})
		o.attach(&wire.Join{Session: 12, Endpoint: &wire.Endpoint{Session: 12, Host: "here"}, Worker: &wire.WorkerRole{Slots: 64, Engine: true}})
		o.attach(&wire.Join{Session: 13, Endpoint: &wire.Endpoint{Session: 13, Host: "there"}, Worker: &wire.WorkerRole{Slots: 64, Stage: "judge"}})
		o.attach(&wire.Join{Session: 14, Endpoint: &wire.Endpoint{Session: 14, Host: "here"}})
		o.attach(&wire.Join{Session: 15, Endpoint: &wire.Endpoint{Session: 15, Host: "here", Socket: "another process"}, Worker: &wire.WorkerRole{}})
		o.converse(t, any)
		// A later life of the owner learns from them what was, or something else.
		if !o.over.Load() && rapid.Bool().Draw(t, "the owner is lost") {
			before := o
			o, err = newOwnerAlone(t, &wire.Own{Run: testRun, Config: config, Recover: true}, table, heard)
			require.NoError(t, err)
			defer o.close()
			o.log, o.granted, o.ended, o.segments = before.log, before.granted, before.ended, before.segments
			trainer := &wire.TrainerRole{Role: "trainer", WorldSize: 1}
			o.log.fillJoin(trainer)
			worker := &wire.Join{Session: 12, Endpoint: &wire.Endpoint{Session: 12, Host: "here"}, Worker: &wire.WorkerRole{Slots: 64, Engine: true}, Inventory: &wire.Inventory{}}
			for _, receipt := range o.granted {
				worker.Inventory.Held = append(worker.Inventory.Held, &wire.Held{Receipt: receipt})
			}
			worker.Inventory.Held = append(worker.Inventory.Held, o.ended...)
			for _, join := range []*wire.Join{{Session: 11, Endpoint: &wire.Endpoint{Session: 11, Host: "here"}, Trainer: trainer}, worker} {
				join = proto.CloneOf(join)
				for range rapid.IntRange(0, 2).Draw(t, "spoilt") {
					any.spoil(join.ProtoReflect())
				}
				if join = overTheWire(t, &wire.Frame{Body: &wire.Frame_Join{Join: join}}).GetJoin(); join.GetSession() != 0 && join.GetEndpoint() != nil {
					t.Logf("joins again %v", join)
					join.KnownTerm = nil
					o.attach(join)
				}
			}
			o.attach(&wire.Join{Session: 14, Endpoint: &wire.Endpoint{Session: 14, Host: "here"}})
			o.converse(t, any)
		}
		// It still answers who asks, unless the run was closed.
		o.attach(&wire.Join{Session: 99, Endpoint: &wire.Endpoint{Session: 99, Host: "here"}})
		if o.attached[99] == nil {
			require.Equal(t, string(bridge.Closed), o.said[1].GetError().GetKind(), o.said[1].GetError().GetMessage())
			return
		}
		o.say(99, &wire.Frame{Id: 1 << 40, Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{}}})
		require.NotNil(t, o.said[1<<40].GetStats_())
	})
}

func TestAnyConfigurationIsRefusedOrWorks(t *testing.T) {
	t.Setenv("OUTRIDER_VERIFY", "all")
	table := arrowtest.Table(t, 8)
	defer table.Close()
	rapid.Check(t, func(t *rapid.T) {
		heard := &heard{parts: map[protoreflect.FullName][]proto.Message{}}
		config := testConfig()
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			anyMessage{t, heard}.spoil(config.ProtoReflect())
		}
		t.Logf("config %v", config)
		o, err := newOwnerAlone(t, &wire.Own{Run: testRun, Config: config}, table, heard)
		if err != nil {
			require.Contains(t, []bridge.Kind{bridge.Config, bridge.State}, kindOf(fromCore(err)), "%v", err)
			return
		}
		defer o.close()
		o.attach(&wire.Join{Session: 11, Endpoint: &wire.Endpoint{Session: 11, Host: "here"}, Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, StateAt: -1}})
		o.attach(&wire.Join{Session: 12, Endpoint: &wire.Endpoint{Session: 12, Host: "here"}, Worker: &wire.WorkerRole{Slots: 64, Engine: true}})
		for range rapid.IntRange(0, 30).Draw(t, "frames") {
			session, frame := o.rightly(t)
			o.say(session, frame)
		}
		o.say(11, &wire.Frame{Id: 1 << 40, Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{}}})
		require.NotNil(t, o.said[1<<40].GetStats_())
	})
}
