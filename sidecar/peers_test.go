package sidecar

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// newHolder is a sidecar's end that serves one segment of session 7 to whoever knows the token.
func newHolder(t *testing.T) *Process {
	t.Helper()
	listener, err := bridge.Listen()
	require.NoError(t, err)
	p := &Process{listener: listener, segments: newSegments(hclog.NewNullLogger())}
	p.segments.admitToken("token")
	p.segments.hold(7, 1, arrowtest.Table(t, 1), 1)
	t.Cleanup(func() { p.segments.releaseAll(7) })
	go p.serveNeighbours()
	t.Cleanup(func() { listener.Close() })
	return p
}

func TestFetchesKeepTheirConnectionAndFindAnotherWhenItEnds(t *testing.T) {
	t.Parallel()
	holder := newHolder(t)
	var known peers
	id := []*wire.SegmentId{{Holder: 7, Number: 1}}
	fetch := func() error {
		peer := known.of(holder.listener.Name())
		peer.mu.Lock()
		defer peer.mu.Unlock()
		fds, err := peer.fetch(&wire.Fetch{Token: "token", Segments: id})
		bridge.CloseDescriptors(fds)
		return err
	}
	require.NoError(t, fetch())
	first := known.of(holder.listener.Name()).conn
	require.NoError(t, fetch())
	require.Same(t, first, known.of(holder.listener.Name()).conn, "kept")

	require.NoError(t, first.Close())
	require.NoError(t, fetch(), "a connection that has ended is made again")
	require.NotSame(t, first, known.of(holder.listener.Name()).conn)
}

func TestPeersLetGoOfWhoHasGone(t *testing.T) {
	t.Parallel()
	listener, err := bridge.Listen()
	require.NoError(t, err)
	accepted := make(chan *bridge.Conn)
	go func() {
		conn, _ := listener.Accept()
		accepted <- conn
	}()
	var known peers
	gone := known.of(listener.Name())
	gone.conn, err = bridge.Dial(listener.Name())
	require.NoError(t, err)
	require.False(t, gone.gone(), "it is there")
	require.NoError(t, (<-accepted).Close())
	require.NoError(t, listener.Close())

	known.of("somebody else")
	require.NotContains(t, known.bySocket, listener.Name())
	require.Nil(t, gone.conn)

	gone.mu.Lock()
	defer gone.mu.Unlock()
	_, err = gone.fetch(&wire.Fetch{Token: "token", Segments: []*wire.SegmentId{{Holder: 7, Number: 1}}})
	require.Equal(t, bridge.Revoked, kindOf(err))
	require.ErrorContains(t, err, "0000000000000007")
}
