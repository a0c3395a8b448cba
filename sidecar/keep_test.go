package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

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
