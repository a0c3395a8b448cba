package sidecar

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"outrider/arrowio"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// apart is a process that holds segments of a session, numbered from 1, and is reachable by Flight alone, as one of another host. All
// tests are one host: sessions differ. around, where it is given, stands around each search for a segment.
func apart(t *testing.T, session uint64, access bridge.Access, around func(flight.Find) flight.Find, segments ...*arrowio.Segment) *wire.Endpoint {
	t.Helper()
	held := newSegments(hclog.NewNullLogger())
	held.admitToken(testRun.GetToken())
	for i, segment := range segments {
		held.hold(session, uint64(i+1), segment, 1)
	}
	f := newFlights(hclog.NewNullLogger(), held)
	if around != nil {
		f.find = around(f.find)
	}
	t.Cleanup(func() {
		f.stop()
		held.releaseAll(session)
	})
	address := f.address("127.0.0.1", access)
	require.Equal(t, address, f.address("127.0.0.1", access))
	return &wire.Endpoint{Session: session, Host: "that", Address: address}
}
