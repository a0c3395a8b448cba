package flight

import (
	"errors"
	"hash/crc32"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"outrider/arrowio"
)

// piece is how many bytes of a segment go in one message to a Client.
const piece = 1 << 20

// A peer that is silent for keepaliveTime is asked; no answer within keepaliveTimeout ends its calls: a cut network gives no EOF.
const (
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 20 * time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Found is what a ticket names: rows of a segment, which is the receiver's to close.
type Found struct {
	Segment     *arrowio.Segment
	First, Rows int64
}

// Find looks a ticket up for whoever brings the token. Its error goes to the client, as it is when it is a gRPC status.
type Find func(token string, ticket []byte) (Found, error)

// Server answers DoGet of the Arrow Flight protocol, and nothing else of it. Safe for concurrent use.
type Server struct {
	find Find
	grpc *grpc.Server
}

// NewServer makes a server, which shows the credentials to its clients; Serve starts it.
func NewServer(creds credentials.TransportCredentials, find Find) *Server {
	s := &Server{find: find}
	s.grpc = grpc.NewServer(
		grpc.Creds(creds), grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(maxTicket), grpc.WriteBufferSize(256<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	)
	s.grpc.RegisterService(&grpc.ServiceDesc{
		ServiceName: "arrow.flight.protocol.FlightService", HandlerType: (*any)(nil), Metadata: "Flight.proto",
		Streams: []grpc.StreamDesc{{StreamName: "DoGet", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error { return s.get(stream) }}},
	}, s)
	return s
}

// Serve answers on the listener, which it takes over, until Stop. It may be called for several.
func (s *Server) Serve(listener net.Listener) error {
	err := s.grpc.Serve(listener)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Stop ends every call. Idempotent.
func (s *Server) Stop() { s.grpc.Stop() }

func (s *Server) get(stream grpc.ServerStream) error {
	var asked ticket
	if err := stream.RecvMsg(&asked); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	one := func(name string) string {
		if values := md.Get(name); len(values) == 1 {
			return values[0]
		}
		return ""
	}
	found, err := s.find(one(tokenHeader), asked.bytes)
	if err != nil {
		if _, named := status.FromError(err); named {
			return err
		}
		return status.Error(codes.Internal, err.Error())
	}
	defer func() { found.Segment.Close() }()
	if one(transferHeader) == transferBytes {
		return sendBytes(stream, found.Segment)
	}
	if found.First != 0 || found.Rows != found.Segment.Rows() {
		rows, err := found.Segment.Slice(found.First, found.Rows)
		if err != nil {
			return status.Error(codes.OutOfRange, err.Error())
		}
		found.Segment.Close()
		found.Segment = rows
	}
	return sendMessages(stream, found.Segment)
}

// sendBytes sends a whole segment as it is.
func sendBytes(stream grpc.ServerStream, segment *arrowio.Segment) error {
	if err := stream.SendHeader(metadata.Pairs(transferHeader, transferBytes)); err != nil {
		return err
	}
	root, err := segment.Lend()
	if err != nil {
		return err
	}
	lease := newLease(root)
	defer lease.done()
	head := control{size: segment.Size(), rows: segment.Rows(), fingerprint: segment.SchemaFingerprint()}
	if err := stream.SendMsg(&flightData{app: head.marshal()}); err != nil {
		return err
	}
	sum := uint32(0)
	for data := root.Bytes(); len(data) > 0; {
		part := data[:min(piece, len(data))]
		sum = crc32.Update(sum, castagnoli, part)
		if err := stream.SendMsg(&flightData{body: part, lease: lease}); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return stream.SendMsg(&flightData{app: control{end: true, checksum: sum}.marshal()})
}

// sendMessages sends a segment as Flight has it.
func sendMessages(stream grpc.ServerStream, segment *arrowio.Segment) error {
	root, err := segment.Lend()
	if err != nil {
		return err
	}
	lease := newLease(root)
	defer lease.done()
	return arrowio.Messages(root.Bytes(), func(metadata, body []byte) error {
		return stream.SendMsg(&flightData{header: metadata, body: body, lease: lease})
	})
}
