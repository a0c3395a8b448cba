package sidecar

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio/flight"
	"outrider/arrowio/flight/flighttest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

func TestS11_10_AFetchThatIsCutInTheMiddleIsMadeAgain(t *testing.T) {
	t.Parallel()
	const session = 0x111010
	from, count := counted(t, session)
	from.Address = flighttest.Cut(t, from.GetAddress(), 600)
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
