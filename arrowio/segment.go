package arrowio

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"golang.org/x/sys/unix"
)

// Segment is one sealed memfd that holds one Arrow IPC stream with an end marker, mapped read-only and validated.
// Its bytes can never change again, so a check done once holds. Safe for concurrent use.
type Segment struct {
	stream *Stream
	size   int64
	print  [32]byte

	mu sync.Mutex // guards fd, against a Close beside other calls
	fd int        // -1 once closed
}

// Seal takes ownership of fd (closed on error), seals the memory against any change, maps it read-only,
// decodes and validates it. The cost is O(metadata + rows), independent of the bytes. Before it says ErrWritable it
// tries again for about 0.1 s.
// Errors: ErrWritable, ErrNotMemory, ErrSparse, *DamagedError, *UnsupportedError.
func Seal(fd int) (*Segment, error) { return own(fd, seal) }

// Open takes ownership of fd (closed on error), which must carry all four seals, and maps, decodes and validates it.
// Errors: ErrUnsealed, ErrNotMemory, ErrSparse, *DamagedError, *UnsupportedError.
func Open(fd int) (*Segment, error) { return own(fd, checkSealed) }

// CheckSealed sees that nobody can change the memory behind fd any more and that all of it is there, and returns its size in bytes.
// What lies in it is not looked at: whoever sealed it has done that, and it holds. fd stays the caller's.
// Errors: ErrUnsealed, ErrNotMemory, ErrSparse.
func CheckSealed(fd int) (size int64, err error) {
	if err := checkSealed(fd); err != nil {
		return 0, err
	}
	return checkWhole(fd)
}

// NewSegment encodes records, all of the given schema, into a fresh sealed memfd.
// The records stay the caller's; the segment holds a copy of their bytes.
// Errors: *UnsupportedError, or that of the memory: ENOSPC or ENOMEM wrapped.
func NewSegment(schema *arrow.Schema, records []arrow.Record) (*Segment, error) {
	e, err := Encode(schema, records)
	if err != nil {
		return nil, err
	}
	defer e.Release()
	fd, err := unix.MemfdCreate("outrider-segment", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("outrider: create a segment of %d bytes: %w; raise ulimit -n or release segments", e.Size(), err)
	}
	if err := e.WriteTo(fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return Seal(fd)
}

// own makes a segment of fd, or closes it.
func own(fd int, ready func(int) error) (_ *Segment, err error) {
	defer func() {
		if err != nil && fd >= 0 {
			_ = unix.Close(fd)
		}
	}()
	if err := ready(fd); err != nil {
		return nil, err
	}
	size, err := checkWhole(fd)
	if err != nil {
		return nil, err
	}
	root, err := mapSealed(fd, size)
	if err != nil {
		return nil, err
	}
	defer root.Release() // the stream has its own hold
	stream, err := Decode(root, Bounds{})
	if err != nil {
		return nil, err
	}
	if end, marked := stream.End(); !marked || end != size {
		stream.Release()
		return nil, &DamagedError{Offset: end, Part: "segment", Detail: fmt.Sprintf("the stream ends there (end marker: %t), the segment has %d bytes", marked, size)}
	}
	return &Segment{stream: stream, size: size, print: Fingerprint(stream.schema), fd: fd}, nil
}

// Fd returns the segment's file descriptor, which stays the segment's own; -1 once closed.
// A caller that passes it on while another goroutine may call Close must keep that from happening.
func (s *Segment) Fd() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fd
}

// Size returns the segment's size in bytes.
func (s *Segment) Size() int64 { return s.size }

// Rows returns the rows of all batches together.
func (s *Segment) Rows() int64 { return s.stream.rows }

// Schema returns the schema.
func (s *Segment) Schema() *arrow.Schema { return s.stream.schema }

// Records returns the batches in order, borrowed: they are valid until Close, and whoever keeps one beyond that
// retains it. Their buffers are slices of the mapping, which is read-only: writing to one is a fault.
func (s *Segment) Records() []arrow.Record { return s.stream.records }

// SchemaFingerprint returns Fingerprint of the schema.
func (s *Segment) SchemaFingerprint() [32]byte { return s.print }

// ContentDigest returns the SHA-256 of the segment's bytes, O(bytes), computed at each call. Error: ErrClosed.
func (s *Segment) ContentDigest() ([32]byte, error) {
	root := s.hold()
	if root == nil {
		return [32]byte{}, fmt.Errorf("%w: its bytes are gone; take the digest before Close", ErrClosed)
	}
	defer root.Release()
	return sha256.Sum256(root.Bytes()), nil
}

// Checksum returns the CRC-32 of the segment's bytes, the polynomial of zlib, O(bytes), computed at each call. Error: ErrClosed.
func (s *Segment) Checksum() (uint32, error) {
	root := s.hold()
	if root == nil {
		return 0, fmt.Errorf("%w: its bytes are gone; take the checksum before Close", ErrClosed)
	}
	defer root.Release()
	return crc32.ChecksumIEEE(root.Bytes()), nil
}

// hold retains the mapping while the segment is open; nil once it is closed.
func (s *Segment) hold() *memory.Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return nil
	}
	s.stream.root.Retain()
	return s.stream.root
}

// Close closes the file descriptor and lets go of the records; the memory is unmapped when the last record that
// somebody retained is released. Idempotent.
func (s *Segment) Close() error {
	s.mu.Lock()
	fd := s.fd
	s.fd = -1
	s.mu.Unlock()
	if fd < 0 {
		return nil
	}
	s.stream.Release()
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("outrider: close segment fd %d: %w", fd, err)
	}
	return nil
}
