package sidecar

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// cutOnce passes bytes to an address and back, and cuts the first connection after so many of the answer's.
func cutOnce(t *testing.T, address string, after int64) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for limit := after; ; limit = 1 << 40 {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				in.Close()
				return
			}
			go func() {
				_, _ = io.Copy(out, in)
				out.Close()
			}()
			go func(limit int64) {
				_, _ = io.Copy(in, io.LimitReader(out, limit))
				in.Close()
				out.Close()
			}(limit)
		}
	}()
	return listener.Addr().String()
}

func TestS11_10_AFetchThatIsCutInTheMiddleIsMadeAgain(t *testing.T) {
	t.Parallel()
	const session = 0x111010
	from, count := counted(t, session)
	from.Address = cutOnce(t, from.GetAddress(), 600)
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	fds, err := p.fetch(testAccess(t), from, []*wire.SegmentId{{Holder: session, Number: 1}}, 0)
	require.NoError(t, err)
	require.Len(t, inodes(t, fds), 1)
	require.EqualValues(t, 2, count.Load())
}

func TestS11_10_WhatCannotSucceedIsAskedOnce(t *testing.T) {
	t.Parallel()
	const session = 0x111011
	from, count := counted(t, session)
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	another := testAccess(t)
	another.Token = "another"
	_, err := p.fetch(another, from, []*wire.SegmentId{{Holder: session, Number: 1}}, 0)
	require.Equal(t, bridge.Refused, kindOf(err))
	require.EqualValues(t, 1, count.Load())
	_, err = p.fetch(testAccess(t), from, []*wire.SegmentId{{Holder: session, Number: 9}}, 0)
	require.Equal(t, bridge.Revoked, kindOf(err), "not held any more: its group is made again")
	require.EqualValues(t, 2, count.Load())
}

func TestS11_16_WhatKeepsComingDamagedIsRefusedByName(t *testing.T) {
	t.Parallel()
	err := farError(&wire.Endpoint{Address: "far:1"}, &wire.SegmentId{Holder: 7, Number: 3}, errors.Join(flight.ErrMismatch))
	require.Equal(t, bridge.Damaged, kindOf(err))
	require.ErrorContains(t, err, "segment 3 of session 0000000000000007, from far:1")
}
