package bridge

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outrider/bridge/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, accept func(context.Context, Session) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewOwnerServer("secret", accept)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	return listener.Addr().String()
}

func TestSessionCarriesFramesBothWays(t *testing.T) {
	t.Parallel()
	address := serve(t, func(_ context.Context, session Session) error {
		frame, err := session.Recv()
		if err != nil {
			return err
		}
		frame.Answer = true
		return session.Send(frame)
	})
	owner, err := DialOwner(context.Background(), address, "secret")
	require.NoError(t, err)
	defer owner.Close()
	require.NoError(t, owner.Send(&wire.Frame{Id: 3}))
	frame, err := owner.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 3, frame.GetId())
	require.True(t, frame.GetAnswer())
}

func TestSessionWithoutTheRunsTokenIsRefused(t *testing.T) {
	t.Parallel()
	address := serve(t, func(context.Context, Session) error {
		t.Error("a session without the token was accepted")
		return nil
	})
	owner, err := DialOwner(context.Background(), address, "guess")
	require.NoError(t, err)
	defer owner.Close()
	_, err = owner.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

func TestErrorsKeepTheirKindOverEveryHop(t *testing.T) {
	t.Parallel()
	for kind, code := range Codes {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			err := NewError(kind, "outrider: object=1 is above the limit 0; lower it")
			require.Equal(t, err, FromWire(ToWire(err)))
			require.Equal(t, code, status.Code(ToStatus(err)))
		})
	}
	require.Nil(t, ToWire(nil))
	require.NoError(t, ToStatus(nil))
	require.Equal(t, string(Internal), ToWire(net.ErrClosed).GetKind(), "an error without a kind is a defect and says so")
}
