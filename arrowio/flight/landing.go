package flight

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"

	"outrider/arrowio"
)

// ErrTooLarge: a peer sends more than the limit of the fetch.
var ErrTooLarge = errors.New("flight: more bytes than the limit")

// ErrMismatch: what arrived is not what the holder said it sends.
var ErrMismatch = errors.New("flight: the segment that arrived is not the one that was sent")

// continuation starts each message of an Arrow stream.
const continuation = 0xFFFFFFFF

// landing is memory that a segment arrives in. Nobody else sees it before it is sealed.
type landing struct {
	fd    int
	at    int64
	limit int64
	sum   uint32
}

func newLanding(limit int64) (*landing, error) {
	fd, err := unix.MemfdCreate("outrider-segment", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("outrider: create memory for a segment of another host: %w; raise ulimit -n or release segments", err)
	}
	return &landing{fd: fd, limit: limit}, nil
}

// write appends pieces of size bytes.
func (l *landing) write(pieces [][]byte, size int64) error {
	if size > l.limit-l.at {
		return fmt.Errorf("%w: %d bytes after %d, at most %d are taken", ErrTooLarge, size, l.at, l.limit)
	}
	for _, p := range pieces {
		l.sum = crc32.Update(l.sum, castagnoli, p)
	}
	at, err := arrowio.WriteAt(l.fd, pieces, l.at)
	l.at = at
	if err != nil {
		return fmt.Errorf("outrider: write a segment of another host: stopped at %d: %w; release segments or raise the host's shared memory", at, err)
	}
	return nil
}

// message appends a message of an Arrow stream, its body on a boundary of 64 bytes.
func (l *landing) message(metadata []byte, body [][]byte, size int64) error {
	pad := int(-(l.at + 8 + int64(len(metadata))) & 63)
	head := binary.LittleEndian.AppendUint32(nil, continuation)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(metadata)+pad))
	head = append(append(head, metadata...), make([]byte, pad)...)
	return l.write(append([][]byte{head}, body...), int64(len(head))+size)
}

// end appends the end marker of an Arrow stream.
func (l *landing) end() error {
	return l.write([][]byte{binary.LittleEndian.AppendUint64(nil, continuation)}, 8)
}

// seal makes the segment, after which the landing is used up.
func (l *landing) seal() (*arrowio.Segment, error) {
	fd := l.fd
	l.fd = -1
	return arrowio.Seal(fd)
}

func (l *landing) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}
