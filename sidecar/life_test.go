package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge/wire"
)

func TestS5_02_GroupsGoFromSourceToCommitThroughFourProcesses(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 64)
	worker.finish(2)
	lease := trainer.take(0)
	require.Equal(t, []int64{0, 1}, groupsOf(lease))
	publication := trainer.publish(lease)
	id := trainer.send(trainer.admitFrame(publication))
	answer, fds := trainer.answer(id)
	require.Empty(t, answer.GetError().GetMessage())
	require.Len(t, fds, 2)

	t.Run("S11_01 the trainer reads the worker's memory in place", func(t *testing.T) {
		for i, fd := range fds {
			segment, err := arrowio.Open(fd)
			require.NoError(t, err)
			require.EqualValues(t, 2, segment.Rows())
			require.Equal(t, []int64{int64(i), int64(i)}, arrowtest.Groups(segment))
			require.NoError(t, segment.Close())
		}
	})
	require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
	stats := trainer.stats()
	require.EqualValues(t, 2, stats.GetBooks().GetAcknowledged().GetGroups())
	require.EqualValues(t, 1, stats.GetNextRollout())

	t.Run("S5_06 the answer to a commit may be asked again", func(t *testing.T) {
		require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
	})
}

func TestS6_07_CommitWithoutAdmissionIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 64)
	worker.finish(2)
	lease := trainer.take(0)
	publication := trainer.publish(lease)
	refused := trainer.ask(trainer.commitFrame(lease)).GetError()
	require.Equal(t, "not_admitted", refused.GetKind())
	trainer.must(trainer.admitFrame(publication))
	require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
}

func TestS6_01_ChangedPublicationIsRefused(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 64)
	worker.finish(2)
	publication := trainer.publish(trainer.take(0))
	locators := publication.GetShards()[0].GetLocators()
	locators[0], locators[1] = locators[1], locators[0]
	refused := trainer.ask(trainer.admitFrame(publication)).GetError()
	require.Equal(t, "refused", refused.GetKind())
	require.Contains(t, refused.GetMessage(), "changed on the way")
}

func TestS11_04_PublishWithAWritableMappingIsRefused(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 64)
	assignment := worker.assignment()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Ftruncate(fd, 4096))
	mapped, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(mapped)
	answer := worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: success(assignment.GetReceipt())}}, fd)
	require.Contains(t, answer.GetReported().GetErrors()[0].GetMessage(), "writable mapping")
}

func TestS2_02_ForeignReceiptIsRefusedAsStale(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 64)
	assignment := worker.assignment()
	assignment.receipt.Attempt++
	require.Equal(t, "stale", worker.complete(assignment).GetKind())
	assignment.receipt.Attempt--
	require.Empty(t, worker.complete(assignment).GetMessage())
	require.EqualValues(t, 1, worker.stats().GetStaleOutcomes())
}

func TestS10_01_KilledWorkersGroupsReplayElsewhere(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	first := startWorker(t, address, "engine-0", 64)
	first.assignment()
	first.kill()
	second := startWorker(t, address, "engine-1", 64)
	seen := map[int64]uint32{}
	for range 2 {
		assignment := second.assignment()
		seen[assignment.GetReceipt().GetGroup()] = assignment.GetReceipt().GetAttempt()
		require.Empty(t, second.complete(assignment).GetMessage())
	}
	require.Equal(t, map[int64]uint32{0: 2, 1: 2}, seen, "both groups are attempted again, pristine")
	require.Equal(t, []int64{0, 1}, trainer.train(0))
}

// What a worker finished that no other process of its host keeps goes with it, and is counted no longer.
func TestS10_01_MemoryOfAKilledWorkerIsBack(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	trainer := startTrainer(t, address, -1, nil) // with it the run begins
	trainer.kill()                               // and nobody is left to keep anything
	until(t, worker, func(s *wire.Stats) bool { return s.GetTrainers() == 0 })
	worker.finish(1)
	require.Positive(t, worker.stats().GetBytes())
	worker.kill()
	trainer = startTrainer(t, address, -1, nil)
	until(t, trainer, func(s *wire.Stats) bool { return s.GetWorkers() == 0 && s.GetBytes() == 0 })
	require.EqualValues(t, 0, trainer.stats().GetCompleted())
}

func TestS10_02_KilledTrainerInsideALeaseRollsBack(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	trainer := startTrainer(t, address, -1, nil)
	worker.finish(2)
	trainer.publish(trainer.take(0))
	trainer.kill()
	trainer = startTrainer(t, address, -1, nil)
	attempts := map[int64]uint32{}
	for range 2 {
		assignment := worker.assignment()
		for assignment.GetReceipt().GetGroup() > 1 { // groups that were running meanwhile
			worker.complete(assignment)
			assignment = worker.assignment()
		}
		attempts[assignment.GetReceipt().GetGroup()] = assignment.GetReceipt().GetAttempt()
		worker.complete(assignment)
	}
	require.Equal(t, map[int64]uint32{0: 2, 1: 2}, attempts)
	trainer.train(0)
}

func TestS12_02_S12_06_TrainerBackAtAnOlderStateRewindsTheRun(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	trainer := startTrainer(t, address, -1, nil)
	worker.finish(4)
	first := trainer.train(0)
	second := trainer.train(1)
	trainer.kill()
	trainer = startTrainer(t, address, 0, nil)
	require.EqualValues(t, 1, trainer.stats().GetNextRollout())
	for {
		a := worker.assignment()
		require.Empty(t, worker.complete(a).GetMessage(), "what ran goes on, under the receipt that the shim knows")
		if a.GetReceipt().GetGroup() == second[1] {
			break
		}
	}
	require.Equal(t, []int64{4, 5}, trainer.train(1), "what ran while the run went back")
	require.Equal(t, second, trainer.train(2), "the groups of the undone rollout train again; those of rollout 0 do not")
	require.NotEqual(t, first, second)
}

func TestS10_03_RestartedOwnerKeepsCommitsAndAdoptsFinishedWork(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 8)
	trainer := startTrainer(t, address, -1, nil)
	worker.finish(2)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	worker.finish(1) // group 2 is terminal
	running := worker.assignment()
	worker.located("")
	trainer.located("")
	owner.kill()
	_, address = startOwner(t, testConfig(), 8, true)
	worker.located(address)
	trainer.located(address)

	require.Empty(t, worker.complete(running).GetMessage(), "running work is adopted")
	require.Equal(t, []int64{2, 3}, trainer.train(1), "finished work is not generated again")
	stats := trainer.stats()
	require.EqualValues(t, 4, stats.GetBooks().GetAcknowledged().GetGroups(), "acknowledged stays acknowledged")
	require.EqualValues(t, 2, stats.GetNextRollout())
}

func TestS8_01_UpdateIsRecordedOnceAndAdmissionReopens(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	driver := startMember(t, address, &wire.Join{Name: "driver", Handle: []byte("driver")})
	begin := driver.send(&wire.Frame{Member: driver.member, Body: &wire.Frame_BeginUpdate{BeginUpdate: &wire.BeginUpdate{Version: 1, Mode: "drain"}}})
	driver.stats()   // asked after the update on the same stream: the hold stands
	worker.finish(2) // the frontier: two groups fill four slots
	answer, _ := driver.answer(begin)
	update := answer.GetUpdateState()
	require.Len(t, update.GetEngines(), 1)
	require.Equal(t, "engine-0", update.GetEngines()[0].GetName())
	record := &wire.Frame{Member: driver.member, Body: &wire.Frame_RecordUpdate{RecordUpdate: &wire.RecordUpdate{Hold: update.GetHold()}}}
	require.Equal(t, "update_failed", driver.ask(record).GetError().GetKind(), "no engine has confirmed")
	worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Confirm{Confirm: &wire.Confirm{Version: 1, Digest: "d"}}})
	require.True(t, driver.must(record).GetUpdateState().GetEngines()[0].GetConfirmed())
	require.EqualValues(t, 1, driver.stats().GetAnnouncedVersion())
	require.EqualValues(t, 1, worker.assignment().version)
}

func TestS9_01_CloseSettlesEverythingAndSidecarsLeaveInOrder(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, testConfig(), 8, false)
	worker := startWorker(t, address, "engine-0", 4)
	driver := startMember(t, address, &wire.Join{Name: "driver"})
	worker.complete(worker.assignment())
	closing := driver.send(&wire.Frame{Member: driver.member, Body: &wire.Frame_Close{Close: &wire.Close{}}})
	for range 2 { // four slots run two groups of two; each is cancelled and ends
		cancel := worker.next(func(f *wire.Frame) bool { return f.GetCancel() != nil }).GetCancel()
		worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: []*wire.Outcome{{Receipt: cancel.GetReceipts()[0], Kind: "retry", Reason: "cancelled"}}}}})
	}
	answer, _ := driver.answer(closing)
	require.Empty(t, answer.GetError().GetMessage())
	books := answer.GetClosed().GetStats().GetBooks()
	require.Equal(t, books.GetReserved().GetGroups(), books.GetAcknowledged().GetGroups()+books.GetFailed().GetGroups()+books.GetLive().GetGroups())
	require.NotEmpty(t, answer.GetClosed().GetState())
	for _, r := range []*role{worker, driver} {
		r.next(func(f *wire.Frame) bool { return f.GetEnd() != nil })
	}
	for _, s := range []*shim{worker.shim, driver.shim, owner} {
		s.conn.Close()
		require.Equal(t, ExitDrained, <-s.exit)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	t.Run("3 when the socket closes under a member", func(t *testing.T) {
		t.Parallel()
		_, address := startOwner(t, testConfig(), 8, false)
		worker := startWorker(t, address, "engine-0", 4)
		worker.conn.Close()
		require.Equal(t, ExitParentLost, <-worker.exit)
	})
	t.Run("0 when nothing was joined", func(t *testing.T) {
		t.Parallel()
		s := startShim(t)
		s.conn.Close()
		require.Equal(t, ExitDrained, <-s.exit)
	})
	t.Run("0 after Leave", func(t *testing.T) {
		t.Parallel()
		_, address := startOwner(t, testConfig(), 8, false)
		worker := startWorker(t, address, "engine-0", 4)
		worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Leave{Leave: &wire.Leave{}}})
		worker.conn.Close()
		require.Equal(t, ExitDrained, <-worker.exit)
	})
	t.Run("0 after SIGTERM, when what runs has ended", func(t *testing.T) {
		t.Parallel()
		_, address := startOwner(t, testConfig(), 8, false)
		worker := startWorker(t, address, "engine-0", 4)
		running := []*assignment{worker.assignment(), worker.assignment()}
		require.NoError(t, worker.cmd.Process.Signal(unix.SIGTERM))
		// What was dispatched before the drain reached the owner is still to be ended.
		for len(running) > 0 {
			_ = worker.conn.Send(&wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: []*wire.Outcome{{Receipt: running[0].GetReceipt(), Kind: "retry", Reason: "leaving"}}}}})
			running = running[1:]
			if len(running) == 0 {
				frame := worker.nextOrEnd(func(f *wire.Frame) bool { return f.GetGrant() != nil })
				running = assignments(t, frame.GetGrant())
			}
		}
		require.Equal(t, ExitDrained, <-worker.exit)
	})
}

func TestS11_17_WorkersGetTheTableOfPromptsAsASealedSegment(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	worker := startShim(t)
	id := worker.send(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{Run: testRun, Address: address, Name: "engine-0", Worker: &wire.WorkerRole{Slots: 2, Engine: true}}}})
	answer, fds := worker.answer(id)
	require.Empty(t, answer.GetError().GetMessage())
	require.Len(t, fds, 1)
	table, err := arrowio.Open(fds[0]) // refuses memory that is not sealed
	require.NoError(t, err)
	defer table.Close()
	require.EqualValues(t, 8, table.Rows())
	grant := worker.next(func(f *wire.Frame) bool { return f.GetGrant() != nil }).GetGrant()
	require.EqualValues(t, 0, grant.GetRows()[0], "a grant names the row")
}

// A worker that drained before the owner was killed gets nothing of the next life: what it would have got goes to the other one.
func TestS3_11_ADrainOutlivesTheOwner(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, testConfig(), 8, false)
	drained, trainer := startWorker(t, address, "engine-0", 2), startTrainer(t, address, -1, nil)
	drained.must(&wire.Frame{Member: drained.member, Body: &wire.Frame_Drain{Drain: &wire.Drain{}}})
	drained.finish(1)
	for _, r := range []*role{drained, trainer} {
		r.located("")
	}
	owner.kill()
	_, address = startOwner(t, testConfig(), 8, true)
	for _, r := range []*role{drained, trainer} {
		r.located(address)
	}
	require.Zero(t, drained.stats().GetExecuting())
	other := startWorker(t, address, "engine-1", 2)
	other.finish(3)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	require.Equal(t, []int64{2, 3}, trainer.train(1))
}
