package sidecar

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

func TestASegmentIsHereUntilItsLastUseEnds(t *testing.T) {
	t.Parallel()
	s := newSegments(hclog.NewNullLogger())
	s.admitToken("token")
	s.hold(7, 1, arrowtest.Table(t, 1), 2)
	share := func() error {
		fds, err := s.share("token", []*wire.SegmentId{{Holder: 7, Number: 1}})
		bridge.CloseDescriptors(fds)
		return err
	}
	s.release(7, 1)
	require.NoError(t, share())
	s.release(7, 1)
	require.Equal(t, bridge.Revoked, kindOf(share()))
	s.release(7, 1)
	require.Empty(t, s.held)
}
