package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/bridge"
	"outrider/bridge/wire"
)

func outboxPair(t *testing.T) (*outbox, *bridge.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, err := bridge.NewConn(fds[0])
	require.NoError(t, err)
	theirs, err := bridge.NewConn(fds[1])
	require.NoError(t, err)
	o := newOutbox(
		func(frame *wire.Frame, fds []int) bool { return ours.TrySend(frame, fds...) },
		func(frame *wire.Frame, fds []int) error { return ours.Send(frame, fds...) }, func(error) {})
	t.Cleanup(func() { ours.Close(); theirs.Close(); o.close(); o.flushed() })
	return o, theirs
}

func TestAFrameIsOnItsWayWhenPutReturns(t *testing.T) {
	t.Parallel()
	var sent []uint64
	o := newOutbox(func(frame *wire.Frame, _ []int) bool {
		sent = append(sent, frame.GetId()) // no lock: it is this goroutine
		return true
	}, nil, nil)
	defer o.close()
	for id := range uint64(3) {
		o.put(&wire.Frame{Id: id})
		require.Len(t, sent, int(id)+1, "or the scheduler of goroutines would decide which of several peers hears first")
	}
}

func TestAPeerThatDoesNotReadHoldsNobodyUpAndMissesNothing(t *testing.T) {
	t.Parallel()
	o, peer := outboxPair(t)
	const frames, large = 200, 100 << 10 // more than any buffer takes
	for id := range uint64(frames) {
		o.put(&wire.Frame{Id: id, Body: &wire.Frame_StateBytes{StateBytes: &wire.StateBytes{State: make([]byte, large)}}})
	}
	for id := range uint64(frames) {
		frame, _, err := peer.Receive()
		require.NoError(t, err)
		require.Equal(t, id, frame.GetId())
		if id%10 == 0 {
			o.put(&wire.Frame{Id: frames + id/10}) // behind what waits
		}
	}
	for id := range uint64(frames / 10) {
		frame, _, err := peer.Receive()
		require.NoError(t, err)
		require.Equal(t, frames+id, frame.GetId())
	}
}
