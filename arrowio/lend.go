package arrowio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"golang.org/x/sys/unix"
)

// Lend returns the segment's memory, retained for the caller, who releases it; the segment may be closed before.
// Error: ErrClosed.
func (s *Segment) Lend() (*memory.Buffer, error) {
	root := s.hold()
	if root == nil {
		return nil, fmt.Errorf("%w: its bytes are gone; lend them before Close", ErrClosed)
	}
	return root, nil
}

// Messages calls each with the metadata and the body of every message of a segment's bytes, in order, as slices of them.
func Messages(data []byte, each func(metadata, body []byte) error) error {
	r := &frames{buf: data, lim: Bounds{}.orDefaults()}
	for {
		m, err := r.next()
		if m == nil || err != nil {
			return err
		}
		prefix := int64(4)
		if binary.LittleEndian.Uint32(data[m.at:]) == continuation {
			prefix = 8
		}
		if err := each(data[m.at+prefix:m.bodyAt], data[m.bodyAt:m.bodyAt+m.body]); err != nil {
			return err
		}
	}
}

// Slice copies rows [first, first+rows) into a new segment.
func (s *Segment) Slice(first, rows int64) (*Segment, error) {
	c, err := s.Columns(first, rows)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return NewSegment(c.schema, c.records)
}

// WriteAt writes pieces to fd from a position by pwritev and returns the position behind them. It may change the slice of
// pieces, not their bytes.
func WriteAt(fd int, pieces [][]byte, at int64) (int64, error) {
	for len(pieces) > 0 {
		n, err := unix.Pwritev(fd, pieces[:min(len(pieces), maxPieces)], at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return at, err
		}
		at += int64(n)
		pieces = after(pieces, n)
	}
	return at, nil
}
