package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

func TestS11_16_ASegmentThatIsNotWhatItsWriterSaidIsRefusedByNameBeforeARankReadsIt(t *testing.T) {
	t.Parallel()
	holder := newHolder(t)
	table := arrowtest.Table(t, 1)
	right, err := table.Checksum()
	require.NoError(t, err)
	require.NoError(t, table.Close())
	_, err = table.Checksum()
	require.ErrorIs(t, err, arrowio.ErrClosed)

	p := &Process{}
	admit := func(checksum *uint32) error {
		locator := &wire.Locator{Segment: &wire.SegmentId{Holder: 7, Number: 1, Checksum: checksum}, Rows: 1}
		endpoint := &wire.Endpoint{Session: 7, Socket: holder.listener.Name()}
		_, fds, err := p.fetchShard(bridge.Access{Token: "token"}, &wire.Publication{Endpoints: []*wire.Endpoint{endpoint}}, &wire.Shard{Locators: []*wire.Locator{locator}})
		bridge.CloseDescriptors(fds)
		return err
	}
	require.NoError(t, admit(nil))
	require.NoError(t, admit(&right))
	err = admit(proto.Uint32(right + 1))
	require.Equal(t, bridge.Damaged, kindOf(err))
	require.ErrorContains(t, err, "segment 1 of session 0000000000000007 has CRC-32")
}

func TestS11_16_AWritersChecksumGoesWithItsSegmentToTheRank(t *testing.T) {
	t.Parallel()
	config := testConfig()
	config.Checksums = true
	_, address := startOwner(t, config, 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	require.True(t, worker.joined.GetChecksums())
	for range 2 {
		work := worker.assignment()
		segment := arrowtest.Rollouts(t, 2, work.GetReceipt().GetGroup())
		checksum, err := segment.Checksum()
		require.NoError(t, err)
		report := success(work.GetReceipt())
		frame := &wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: report}}

		report.Checksums = []uint32{checksum, checksum}
		fd := shared(t, segment)
		answer, _ := worker.answer(worker.send(frame, fd))
		require.ErrorContains(t, bridge.FromWire(answer.GetError()), "1 segments has 2 checksums")

		report.Checksums = []uint32{checksum}
		require.Empty(t, worker.must(frame, fd).GetReported().GetErrors())
		bridge.CloseDescriptors([]int{fd})
	}
	publication := trainer.publish(trainer.take(0))
	for _, locator := range publication.GetShards()[0].GetLocators() {
		require.NotNil(t, locator.GetSegment().Checksum)
	}
	trainer.must(trainer.admitFrame(publication))
}
