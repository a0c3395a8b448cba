package bridge

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"outrider/bridge/wire"
)

const (
	tokenHeader = "outrider-token"
	wrongToken  = "outrider: the run's token is missing or of another run"
	// maxMessage bounds one frame between sidecars; run.state of a million groups is below 1 MB.
	maxMessage = 64 << 20
	// A peer that is silent for keepaliveTime is asked; no answer within keepaliveTimeout ends the stream. A cut network gives no
	// EOF, so this is what notices it.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 20 * time.Second
)

// Session is one member's stream of frames, at either end. Send may be called by one goroutine at a time, as may Receive.
type Session interface {
	Send(frame *wire.Frame) error
	Recv() (*wire.Frame, error)
}

// TrySend sends a frame of a session if that takes no wait: on one host, while the peer has room. False: nothing was sent, call Send.
func TrySend(session Session, frame *wire.Frame) bool {
	local, ok := session.(*localSession)
	return ok && local.conn.TrySend(frame)
}

// OwnerServer accepts member sessions of one run.
type OwnerServer struct {
	wire.UnimplementedOwnerServer
	server *grpc.Server
	token  string
	accept func(ctx context.Context, session Session) error
	local  locals
}

// NewOwnerServer makes a server that calls accept, in a goroutine of its own, for each stream that brings the run's token; the
// stream ends when accept returns.
func NewOwnerServer(access Access, accept func(ctx context.Context, session Session) error) *OwnerServer {
	o := &OwnerServer{token: access.Token, accept: accept}
	o.server = grpc.NewServer(
		grpc.Creds(access.Serve), grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	)
	wire.RegisterOwnerServer(o.server, o)
	return o
}

// Serve answers on the listener until Stop; it takes the listener over.
func (o *OwnerServer) Serve(listener net.Listener) error {
	err := o.server.Serve(listener)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Stop ends every session.
func (o *OwnerServer) Stop() {
	o.local.stop()
	o.server.Stop()
}

// Session implements the gRPC service.
func (o *OwnerServer) Session(stream grpc.BidiStreamingServer[wire.Frame, wire.Frame]) error {
	var token string
	if md, ok := metadata.FromIncomingContext(stream.Context()); ok && len(md.Get(tokenHeader)) == 1 {
		token = md.Get(tokenHeader)[0]
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(o.token)) != 1 {
		return status.Error(codes.Unauthenticated, wrongToken)
	}
	return ToStatus(o.accept(stream.Context(), stream))
}

// Owner is a member's connection to the owner.
type Owner struct {
	Session
	close func() error
}

// DialOwner opens a session: over the owner's socket when it is on this host, else a gRPC stream. It fails at once when nobody
// listens at the address, or whoever does cannot be trusted (Untrusted). The first frame is to be a Join.
func DialOwner(ctx context.Context, address string, access Access) (*Owner, error) {
	if owner := dialLocal(ctx, address); owner != nil {
		return owner, nil
	}
	address, _, _ = strings.Cut(address, "@")
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(access.Dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("bridge: owner at %s: %w", address, err)
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, tokenHeader, access.Token))
	stream, err := wire.NewOwnerClient(conn).Session(ctx)
	if err != nil {
		cancel()
		conn.Close()
		return nil, fmt.Errorf("bridge: owner at %s: %w", address, err)
	}
	return &Owner{Session: stream, close: func() error {
		cancel()
		return conn.Close()
	}}, nil
}

// Close ends the session at once.
func (o *Owner) Close() error { return o.close() }
