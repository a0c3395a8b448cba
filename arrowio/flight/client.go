package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"outrider/arrowio"
)

// window is how many bytes a server may send ahead of the landing.
const window = 4 << 20

// ErrStalled: nothing has come for Client.Stall.
var ErrStalled = errors.New("flight: the holder sends nothing")

// Client fetches from one Flight server, this package's or a stock one. Safe for concurrent use.
type Client struct {
	// Limit bounds a segment in bytes.
	Limit int64
	// Stall is how long a fetch waits for the next message.
	Stall time.Duration

	conn  *grpc.ClientConn
	token string
}

// Dial makes a client, which connects at its first fetch, and sends the token to a server that the credentials hold for.
func Dial(address, token string, creds credentials.TransportCredentials, limit int64, stall time.Duration) (*Client, error) {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(creds), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(int(min(limit, math.MaxInt32)))),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window), grpc.WithReadBufferSize(256<<10),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	)
	if err != nil {
		return nil, fmt.Errorf("flight: holder at %s: %w", address, err)
	}
	return &Client{Limit: limit, Stall: stall, conn: conn, token: token}, nil
}

// Close ends every fetch.
func (c *Client) Close() error { return c.conn.Close() }

// Fetch lands what a ticket names in new memory, sealed and validated, the caller's to close. On error nothing is left.
// Errors: a gRPC status, ErrStalled, ErrTooLarge, ErrMismatch, *arrowio.DamagedError, *arrowio.UnsupportedError.
func (c *Client) Fetch(ctx context.Context, ask []byte) (_ *arrowio.Segment, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.Stall, func() { cancel(ErrStalled) })
	defer timer.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrStalled) {
			err = fmt.Errorf("%w for %s: %w", ErrStalled, c.Stall, err)
		}
	}()
	stream, err := c.conn.NewStream(metadata.AppendToOutgoingContext(ctx, tokenHeader, c.token, transferHeader, transferBytes),
		&grpc.StreamDesc{StreamName: "DoGet", ServerStreams: true}, "/arrow.flight.protocol.FlightService/DoGet")
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(&ticket{ask}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	header, err := stream.Header()
	if err != nil {
		return nil, err
	}
	l, err := newLanding(c.Limit)
	if err != nil {
		return nil, err
	}
	defer l.close()
	next := func(m *flightData) error {
		err := stream.RecvMsg(m)
		timer.Reset(c.Stall)
		return err
	}
	if granted := header.Get(transferHeader); len(granted) == 1 && granted[0] == transferBytes {
		return receiveBytes(l, next)
	}
	return receiveMessages(l, next)
}

// receiveBytes reads what sendBytes sends.
func receiveBytes(l *landing, next func(*flightData) error) (*arrowio.Segment, error) {
	var m flightData
	if err := next(&m); err != nil {
		return nil, early(err)
	}
	m.free()
	head, err := readControl(m.app)
	switch {
	case err != nil:
		return nil, err
	case head.size < 0 || head.size > l.limit:
		return nil, fmt.Errorf("%w: a segment of %d bytes, at most %d are taken", ErrTooLarge, head.size, l.limit)
	}
	l.limit = head.size
	for {
		if err := next(&m); err != nil {
			return nil, early(err)
		}
		if len(m.app) > 0 {
			break
		}
		err := l.write(m.pieces, m.size)
		m.free()
		if err != nil {
			return nil, err
		}
	}
	m.free()
	end, err := readControl(m.app)
	switch {
	case err != nil:
		return nil, err
	case !end.end || l.at != head.size:
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrMismatch, l.at, head.size)
	case end.checksum != l.sum:
		return nil, fmt.Errorf("%w: CRC-32C %08x, sent %08x", ErrMismatch, l.sum, end.checksum)
	}
	if err := next(&m); !errors.Is(err, io.EOF) {
		m.free()
		return nil, fmt.Errorf("%w: more after its end: %w", ErrMismatch, orNothing(err))
	}
	segment, err := l.seal()
	if err != nil {
		return nil, err
	}
	if have := segment.SchemaFingerprint(); have != head.fingerprint || segment.Rows() != head.rows {
		rows := segment.Rows()
		segment.Close()
		return nil, fmt.Errorf("%w: schema fingerprint %x and %d rows, sent %x and %d", ErrMismatch, have, rows, head.fingerprint, head.rows)
	}
	return segment, nil
}

// receiveMessages reads what any Flight server sends.
func receiveMessages(l *landing, next func(*flightData) error) (*arrowio.Segment, error) {
	for {
		var m flightData
		err := next(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(m.header) > 0 {
			err = l.message(m.header, m.pieces, m.size)
		} else if m.size > 0 {
			err = fmt.Errorf("%w: a body of %d bytes without a header", errWire, m.size)
		} // metadata alone is allowed and of no use here
		m.free()
		if err != nil {
			return nil, err
		}
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	return l.seal()
}

// early turns an end that comes before the end into an error.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrMismatch, io.ErrUnexpectedEOF)
	}
	return err
}

func orNothing(err error) error {
	if err == nil {
		return errWire
	}
	return err
}
