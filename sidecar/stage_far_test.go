package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// A stage on another host than the engine and the trainer reads groups of which several share a segment, and adds a column.
func TestS11_18_AStageOfAnotherHostAddsColumns(t *testing.T) {
	t.Parallel()
	far, here := otherHost(t)
	owner := startShim(t)
	config := testConfig()
	config.Stages = []string{"judge"}
	table := shared(t, arrowtest.Table(t, 8))
	address := owner.must(&wire.Frame{Body: &wire.Frame_Own{Own: &wire.Own{Run: testRun, Config: config, Ip: here}}}, table).GetOwned().GetAddress()
	require.NoError(t, unix.Close(table))
	far.located(address)
	join := &wire.Join{Run: testRun, Address: address, Name: "judge-0", Worker: &wire.WorkerRole{Slots: 4, Stage: "judge"}}
	answer, fds := far.answer(far.send(&wire.Frame{Body: &wire.Frame_Join{Join: join}}))
	require.Empty(t, answer.GetError().GetMessage())
	bridge.CloseDescriptors(fds)
	judge := &role{shim: far, member: answer.GetJoined().GetMember(), joined: answer.GetJoined()}
	trainer := startTrainer(t, address, -1, nil)

	worker := startWorker(t, address, "engine-0", 4)
	receipts := []*wire.Receipt{worker.assignment().receipt, worker.assignment().receipt}
	both := shared(t, arrowtest.Rollouts(t, 2, receipts[0].GetGroup(), receipts[1].GetGroup()))
	reported := worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: success(receipts...)}}, both)
	require.Empty(t, reported.GetReported().GetErrors())
	require.NoError(t, unix.Close(both))

	for range 2 {
		grant := judge.next(func(f *wire.Frame) bool { return f.GetStageGrant() != nil }).GetStageGrant()
		require.EqualValues(t, 0, grant.GetLocator().GetFirstRow(), "the group's rows alone have come")
		require.Len(t, grant.GetSegments(), 1)
		column := shared(t, arrowtest.Table(t, 2))
		report := success(grant.GetReceipt())
		report.Columns = true
		reported := judge.must(&wire.Frame{Member: judge.member, Body: &wire.Frame_Report{Report: report}}, column)
		require.Empty(t, reported.GetReported().GetErrors())
		require.NoError(t, unix.Close(column))
	}
	lease := trainer.take(0)
	publication := trainer.publish(lease)
	for _, at := range publication.GetShards()[0].GetLocators() {
		require.Len(t, at.GetColumns(), 1)
		require.Equal(t, judge.joined.GetSession(), at.GetColumns()[0].GetSegment().GetHolder())
	}
	answer, fds = trainer.answer(trainer.send(trainer.admitFrame(publication)))
	require.Empty(t, answer.GetError().GetMessage())
	require.Len(t, fds, 3, "one segment of the engine's and one for each group of the stage's")
	bridge.CloseDescriptors(fds)
	require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
}
