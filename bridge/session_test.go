package bridge

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outrider/bridge/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// access is that of a run without certificates.
func access(t *testing.T, token string) Access {
	t.Helper()
	a, err := NewAccess(&wire.Run{Token: token})
	require.NoError(t, err)
	return a
}

// serve starts an owner's endpoint; the address that it returns offers both ways.
func serve(t *testing.T, accept func(context.Context, Session) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewOwnerServer(access(t, "secret"), accept)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	address, err := server.ServeLocal(listener.Addr().String())
	require.NoError(t, err)
	return address
}

// bothWays runs a test over each carrier of a session.
func bothWays(t *testing.T, accept func(context.Context, Session) error, test func(t *testing.T, address string)) {
	t.Helper()
	address := serve(t, accept)
	port, _, _ := strings.Cut(address, "@")
	for name, at := range map[string]string{"gRPC": port, "socket": address, "gRPC, since the socket is not to be reached": port + "@outrider/nobody"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, at)
		})
	}
}

func TestSessionCarriesFramesBothWays(t *testing.T) {
	t.Parallel()
	bothWays(t, func(_ context.Context, session Session) error {
		for {
			frame, err := session.Recv()
			if err != nil {
				return err
			}
			frame.Answer = true
			if err := session.Send(frame); err != nil {
				return err
			}
		}
	}, func(t *testing.T, address string) {
		owner, err := DialOwner(context.Background(), address, access(t, "secret"))
		require.NoError(t, err)
		defer owner.Close()
		large := strings.Repeat("x", maxDatagram) // above what one datagram carries
		for id, run := range []*wire.Run{{Token: "secret"}, {Token: large}} {
			require.NoError(t, owner.Send(&wire.Frame{Id: uint64(id), Body: &wire.Frame_Join{Join: &wire.Join{Run: run}}}))
			frame, err := owner.Recv()
			require.NoError(t, err)
			require.EqualValues(t, id, frame.GetId())
			require.True(t, frame.GetAnswer())
			require.Equal(t, run.GetToken(), frame.GetJoin().GetRun().GetToken())
		}
	})
}

func TestSessionEndsAtBothEnds(t *testing.T) {
	t.Parallel()
	accepted := make(chan struct{}, 3)
	ended := make(chan error, 3)
	bothWays(t, func(_ context.Context, session Session) error {
		_, err := session.Recv()
		accepted <- struct{}{}
		for err == nil {
			_, err = session.Recv()
		}
		ended <- err
		return nil
	}, func(t *testing.T, address string) {
		ctx, cancel := context.WithCancel(context.Background())
		owner, err := DialOwner(ctx, address, access(t, "secret"))
		require.NoError(t, err)
		defer owner.Close()
		require.NoError(t, owner.Send(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{Run: &wire.Run{Token: "secret"}}}}))
		<-accepted
		cancel()
		_, err = owner.Recv()
		require.Error(t, err)
		require.Error(t, <-ended)
	})
}

func TestSessionWithoutTheRunsTokenIsRefused(t *testing.T) {
	t.Parallel()
	bothWays(t, func(context.Context, Session) error {
		t.Error("a session without the token was accepted")
		return nil
	}, func(t *testing.T, address string) {
		owner, err := DialOwner(context.Background(), address, access(t, "guess"))
		require.NoError(t, err)
		defer owner.Close()
		// Over gRPC the answer may be there before the question.
		_ = owner.Send(&wire.Frame{Id: 1, Body: &wire.Frame_Join{Join: &wire.Join{Run: &wire.Run{Token: "guess"}}}})
		frame, err := owner.Recv()
		if err != nil {
			require.Equal(t, codes.Unauthenticated, status.Code(err))
			return
		}
		require.Equal(t, string(Refused), frame.GetError().GetKind())
		require.Contains(t, frame.GetError().GetMessage(), "token is missing or of another run")
		_, err = owner.Recv()
		require.Error(t, err, "the owner ends the session")
	})
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
