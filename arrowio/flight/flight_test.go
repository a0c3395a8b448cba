package flight

import (
	"context"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"outrider/arrowio"
	"outrider/arrowio/flight/flighttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testToken = "0123456789abcdef"
	testLimit = 1 << 30
	patience  = 5 * time.Minute // of a fetch that is to succeed; nothing waits for it
)

// numbers is a segment of batches with rows lists each, of so many int32.
func numbers(t testing.TB, batches, rows, length int) *arrowio.Segment {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "row", Type: arrow.PrimitiveTypes.Int64},
		{Name: "tokens", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
	}, nil)
	var records []arrow.Record
	for k := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for i := range rows {
			b.Field(0).(*array.Int64Builder).Append(int64(k*rows + i))
			list := b.Field(1).(*array.ListBuilder)
			list.Append(true)
			for j := range length {
				list.ValueBuilder().(*array.Int32Builder).Append(int32(k ^ i*j))
			}
		}
		r := b.NewRecord()
		defer r.Release()
		records = append(records, r)
	}
	s, err := arrowio.NewSegment(schema, records)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// again opens the same memory once more.
func again(t testing.TB, s *arrowio.Segment) *arrowio.Segment {
	t.Helper()
	file, err := os.Open("/proc/self/fd/" + itoa(s.Fd()))
	require.NoError(t, err)
	defer file.Close()
	fd, err := dup(int(file.Fd()))
	require.NoError(t, err)
	opened, err := arrowio.Open(fd)
	require.NoError(t, err)
	return opened
}

// serve answers the ticket "rows" with rows 2 and 3, and any other with the whole segment.
func serve(t testing.TB, s *arrowio.Segment) string {
	t.Helper()
	server := NewServer(insecure.NewCredentials(), func(token string, asked []byte) (Found, error) {
		switch {
		case token != testToken:
			return Found{}, status.Error(codes.Unauthenticated, "outrider: a token of another run")
		case string(asked) == "rows":
			return Found{again(t, s), 2, 2}, nil
		}
		return Found{again(t, s), 0, s.Rows()}, nil
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

func client(t testing.TB, address string, limit int64) *Client {
	t.Helper()
	c, err := Dial(address, testToken, insecure.NewCredentials(), limit, patience)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func digest(t testing.TB, s *arrowio.Segment) [32]byte {
	t.Helper()
	d, err := s.ContentDigest()
	require.NoError(t, err)
	return d
}

func TestS11_10_ASegmentLandsSealedAndByteEqual(t *testing.T) {
	t.Parallel()
	for _, s := range []*arrowio.Segment{numbers(t, 0, 0, 0), numbers(t, 1, 1, 1), numbers(t, 3, 7, 100), numbers(t, 2, 300, 5000)} {
		got, err := client(t, serve(t, s), testLimit).Fetch(context.Background(), nil)
		require.NoError(t, err)
		require.Equal(t, s.Size(), got.Size())
		require.Equal(t, digest(t, s), digest(t, got))
		opened := again(t, got) // Open refuses what is not sealed
		require.NoError(t, opened.Close())
		require.NoError(t, got.Close())
	}
}

func TestS11_10_ACutInTheMiddleLeavesNothingAndTheNextFetchSucceeds(t *testing.T) {
	t.Parallel()
	s := numbers(t, 2, 300, 5000)
	for _, after := range []int64{0, 100, 3 << 20, s.Size() - 10} {
		c := client(t, flighttest.Cut(t, serve(t, s), after), testLimit)
		got, err := c.Fetch(context.Background(), nil)
		require.Error(t, err, "cut after %d bytes", after)
		require.Nil(t, got)
		address := c.conn.Target()[len("passthrough:///"):] // a client of its own: the first waits before it dials again
		got, err = client(t, address, testLimit).Fetch(context.Background(), nil)
		require.NoError(t, err)
		require.Equal(t, digest(t, s), digest(t, got))
		require.NoError(t, got.Close())
	}
}

func TestS11_10_ATokenOfAnotherRunIsRefused(t *testing.T) {
	t.Parallel()
	c, err := Dial(serve(t, numbers(t, 1, 1, 1)), "other", insecure.NewCredentials(), testLimit, patience)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Fetch(context.Background(), nil)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

func TestS11_10_ASilentHolderIsGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	c, err := Dial(listener.Addr().String(), testToken, insecure.NewCredentials(), testLimit, time.Millisecond)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Fetch(context.Background(), nil)
	require.ErrorIs(t, err, ErrStalled)
}

// play serves what a hostile peer would: it grants the transfer by bytes or not, and sends messages.
func play(t testing.TB, granted bool, messages ...*flightData) string {
	t.Helper()
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "arrow.flight.protocol.FlightService", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "DoGet", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			if granted {
				_ = stream.SetHeader(metadata.Pairs(transferHeader, transferBytes))
			}
			for _, m := range messages {
				if err := stream.SendMsg(m); err != nil {
					return err
				}
			}
			return nil
		}}},
	}, t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestS11_16_WhatArrivesOtherwiseThanSaidIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	s := numbers(t, 1, 4, 1000)
	root, err := s.Lend()
	require.NoError(t, err)
	good := append([]byte(nil), root.Bytes()...)
	root.Release()
	body := func(b []byte) *flightData {
		l := newLease(memory.NewBufferBytes(b))
		return &flightData{body: b, lease: l}
	}
	head := func(size, rows int64, print [32]byte) *flightData {
		return &flightData{app: control{size: size, rows: rows, fingerprint: print}.marshal()}
	}
	end := func(sum uint32) *flightData { return &flightData{app: control{end: true, checksum: sum}.marshal()} }
	l := &landing{fd: -1, limit: testLimit}
	_ = l.write([][]byte{good}, int64(len(good)))
	sum, print, size := l.sum, s.SchemaFingerprint(), s.Size()
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)-100] ^= 1
	for name, c := range map[string]struct {
		granted  bool
		messages []*flightData
		want     error
		says     string
	}{
		"one bit differs":         {true, []*flightData{head(size, 4, print), body(flipped), end(sum)}, ErrMismatch, "CRC-32C"},
		"another checksum":        {true, []*flightData{head(size, 4, print), body(good), end(sum + 1)}, ErrMismatch, "CRC-32C"},
		"another fingerprint":     {true, []*flightData{head(size, 4, [32]byte{1}), body(good), end(sum)}, ErrMismatch, "fingerprint"},
		"other rows":              {true, []*flightData{head(size, 5, print), body(good), end(sum)}, ErrMismatch, "rows"},
		"too short":               {true, []*flightData{head(size+1, 4, print), body(good), end(sum)}, ErrMismatch, "bytes"},
		"too long":                {true, []*flightData{head(size-1, 4, print), body(good), end(sum)}, ErrTooLarge, "bytes"},
		"larger than the limit":   {true, []*flightData{head(1<<50, 4, print)}, ErrTooLarge, "1125899906842624"},
		"a negative size":         {true, []*flightData{head(-1, 4, print)}, ErrTooLarge, "-1"},
		"nothing":                 {true, nil, ErrMismatch, "EOF"},
		"no end":                  {true, []*flightData{head(size, 4, print), body(good)}, ErrMismatch, "EOF"},
		"an end first":            {true, []*flightData{end(0), end(0)}, nil, "damaged"},
		"more after the end":      {true, []*flightData{head(size, 4, print), body(good), end(sum), end(sum)}, ErrMismatch, "after its end"},
		"control of other kind":   {true, []*flightData{{app: []byte{0xff}}}, errWire, "control"},
		"a body without a header": {false, []*flightData{body(good)}, errWire, "without a header"},
		"a header of no message":  {false, []*flightData{{header: good[:300]}}, nil, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := client(t, play(t, c.granted, c.messages...), testLimit).Fetch(context.Background(), nil)
			require.Error(t, err)
			require.Nil(t, got)
			require.Contains(t, err.Error(), c.says)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestS11_10_StockMessagesAreBoundedByTheLimit(t *testing.T) {
	t.Parallel()
	c := client(t, play(t, false, &flightData{header: make([]byte, 3000)}), 2000)
	_, err := c.Fetch(context.Background(), nil)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte{0x12, 1, 'h', 0x1a, 1, 'a', 0xc2, 0x3e, 2, 'b', 'o'}, 3)
	f.Add([]byte{0xc2, 0x3e, 0xff, 0xff, 0xff, 0xff, 0x7f}, 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var parts mem.BufferSlice
		for rest := data; len(rest) > 0; {
			n := min(max(cut, 1), len(rest))
			parts = append(parts, mem.SliceBuffer(rest[:n]))
			rest = rest[n:]
		}
		var m flightData
		if (codec{}).Unmarshal(parts, &m) == nil {
			require.LessOrEqual(t, int(m.size)+len(m.header)+len(m.app), len(data))
			require.Len(t, join(m.pieces), int(m.size))
			_, _ = readControl(m.app)
			m.free()
		}
		var asked ticket
		_ = (codec{}).Unmarshal(parts, &asked)
	})
}

type freed struct{ done chan struct{} }

func (f freed) Allocate(int) []byte           { panic("never") }
func (f freed) Reallocate(int, []byte) []byte { panic("never") }
func (f freed) Free([]byte)                   { close(f.done) }

func TestS11_10_WhatGRPCNeverReturnsIsFreedWithTheLastReference(t *testing.T) {
	t.Parallel()
	data, f := make([]byte, 4096), freed{make(chan struct{})}
	func() {
		l := newLease(memory.NewBufferWithAllocator(data, f))
		b := l.buffer(data)
		l.done()
		runtime.GC()
		select {
		case <-f.done:
			require.Fail(t, "freed while a buffer was out")
		default:
		}
		require.Equal(t, len(data), b.Len()) // and then the buffer is forgotten, not returned
	}()
	for {
		runtime.GC()
		select {
		case <-f.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestS11_10_MemoryThatComesBackIsFreedAtOnce(t *testing.T) {
	t.Parallel()
	data, f := make([]byte, 4096), freed{make(chan struct{})}
	l := newLease(memory.NewBufferWithAllocator(data, f))
	b := l.buffer(data)
	l.done()
	b.Free()
	select {
	case <-f.done:
	default:
		require.Fail(t, "kept")
	}
}
