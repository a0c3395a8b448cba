package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// rescue waits until n finished groups are kept beside their worker, kills that, and sees that they were all that was saved.
func rescue(t *testing.T, worker, trainer *role, n int64) {
	t.Helper()
	until(t, trainer, func(s *wire.Stats) bool { return s.GetKept() == n })
	worker.kill()
	until(t, trainer, func(s *wire.Stats) bool { return s.GetRescued() == n })
}

// until asks for the numbers of a run until they are as wanted.
func until(t *testing.T, r *role, want func(*wire.Stats) bool) {
	t.Helper()
	for {
		if want(r.stats()) {
			return
		}
	}
}

func TestS10_11_FinishedGroupsOfAKilledWorkerAreTrainedFromTheirKeeper(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	rescue(t, worker, trainer, 2)
	second := startWorker(t, address, "engine-1", 4)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	until(t, trainer, func(s *wire.Stats) bool { return s.GetBytes() == 0 })
	second.finish(2)
	require.Equal(t, []int64{2, 3}, trainer.train(1), "what the killed worker ran is generated again, what it had finished is not")
}

func TestS10_11_WhatIsTrainedIsKeptNoLonger(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	segments := func() int { return footprintOf(t, trainer.cmd.Process.Pid).segments }
	before := segments()
	worker.finish(2)
	until(t, trainer, func(s *wire.Stats) bool { return s.GetKept() == 2 })
	require.Equal(t, before+2, segments())
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	until(t, trainer, func(s *wire.Stats) bool { return s.GetBytes() == 0 })
	trainer.stats() // comes behind what the owner said until then
	require.Equal(t, before, segments())
}

func TestS10_11_AKeeperOfThisHostIsAskedBeforeAHolderOverTheNetwork(t *testing.T) {
	t.Parallel()
	const holder = 0x101101
	away, asked := counted(t, holder)
	keeper := newHolder(t)
	keeper.segments.hold(holder, 1, arrowtest.Rollouts(t, 2, 3), 1)
	t.Cleanup(func() { keeper.segments.releaseAll(holder) })
	ids := []*wire.SegmentId{{Holder: holder, Number: 1}}
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	access := testAccess(t)
	keeper.segments.admitToken(access.Token)
	gone := &wire.Endpoint{Session: holder, Host: "this", Socket: "outrider/nobody", Address: away.GetAddress()}
	near := &wire.Endpoint{Session: 9, Host: "this", Socket: keeper.listener.Name()}
	for _, from := range []*wire.Endpoint{gone, away} {
		fds, err := p.fetchEither(access, from, near, ids, 0)
		require.NoError(t, err)
		bridge.CloseDescriptors(fds)
		rows, err := p.fetchRows(access, from, near, &wire.Locator{Segment: ids[0], Rows: 2}) // for a stage
		require.NoError(t, err)
		require.False(t, rows.far)
		require.NoError(t, unix.Close(rows.fd))
	}
	require.Zero(t, asked.Load())

	// Whom a keeper of another host has replaced is not to be had anywhere else.
	far := &wire.Endpoint{Session: 9, Host: "that", Address: away.GetAddress()}
	gone.Address = ""
	fds, err := p.fetchEither(access, gone, far, ids, 0)
	require.NoError(t, err)
	bridge.CloseDescriptors(fds)
	require.NotZero(t, asked.Load())
}

func TestS10_11_FinishedGroupsOfAKilledWorkerAreReadFromTheirKeeperByAnotherHost(t *testing.T) {
	t.Parallel()
	far, here := otherHost(t)
	owner := startShim(t)
	table := shared(t, arrowtest.Table(t, 8))
	own := &wire.Own{Run: testRun, Config: testConfig(), Ip: here}
	address := owner.must(&wire.Frame{Body: &wire.Frame_Own{Own: own}}, table).GetOwned().GetAddress()
	require.NoError(t, unix.Close(table))
	far.located(address)
	joined := far.must(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{
		Run: testRun, Address: address, Name: "trainer", Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: -1},
	}}}).GetJoined()
	trainer := &role{shim: far, member: joined.GetMember(), joined: joined}
	worker := startWorker(t, address, "engine-0", 2)
	startWorker(t, address, "keeper", 0)
	worker.finish(2)
	rescue(t, worker, trainer, 2)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
}

// The owner tells a worker of its keeper when there is one: what it has finished by then is handed over, too.
func TestS10_11_WhatWasFinishedBeforeItsKeeperCameIsKept(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	trainer := startTrainer(t, address, -1, nil)
	rescue(t, worker, trainer, 2)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
}

func TestS10_11_AWorkerKilledBetweenPublishAndAdmit(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	until(t, trainer, func(s *wire.Stats) bool { return s.GetKept() == 2 })
	lease := trainer.take(0)
	publication := trainer.publish(lease)
	worker.kill()
	trainer.must(trainer.admitFrame(publication))
	require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
}

func TestS10_11_TheOwnerIsKilledToo(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	rescue(t, worker, trainer, 2)
	owner.kill()
	_, address = startOwner(t, testConfig(), 8, true)
	trainer.located(address)
	until(t, trainer, func(s *wire.Stats) bool { return s.GetBooks().GetLiveGroups()["completed"] == 2 })
	require.Equal(t, []int64{0, 1}, trainer.train(0))
}

func TestS3_11_AWorkerThatLeavesHandsOverWhatItFinished(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Leave{Leave: &wire.Leave{}}})
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	require.EqualValues(t, 2, trainer.stats().GetRescued())
}

func TestOnlyWholeSegmentsOfTheRunAreKept(t *testing.T) {
	t.Parallel()
	keeper := newHolder(t)
	keeper.loop = newLoop()
	at := &peer{socket: keeper.listener.Name()}
	id := &wire.SegmentId{Holder: 9, Number: 1}
	held := &wire.Held{Receipt: &wire.Receipt{Group: 5, Worker: 9}, Outcome: &wire.Outcome{Kind: "success", Locator: &wire.Locator{Segment: id, Rows: 3}}}
	for _, c := range []struct {
		keep *wire.Keep
		says string
	}{
		{&wire.Keep{Token: "another"}, "token of another run"},
		{&wire.Keep{Token: "token", Segments: []*wire.SegmentId{id}}, "0 descriptors of 1 segments"},
		{&wire.Keep{Token: "token", Held: []*wire.Held{held}}, "group 5 cannot be kept"},
	} {
		err := at.tell(&wire.Frame{Id: 1, Body: &wire.Frame_Keep{Keep: c.keep}})
		require.ErrorContains(t, err, c.says)
		require.Equal(t, bridge.Refused, kindOf(err))
	}
}
