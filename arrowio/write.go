package arrowio

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// maxPieces is how many pieces one pwritev takes (IOV_MAX of Linux).
const maxPieces = 1024

// WriteTo writes the stream to fd from position 0 by pwritev, without a copy in this process. Memory that the kernel
// cannot give is an error here, never a fault at a reader.
func (e *Encoding) WriteTo(fd int) error { return e.write(fd, maxPieces) }

// write writes at most so many pieces a call.
func (e *Encoding) write(fd, most int) error {
	at := int64(0)
	pieces := append([][]byte(nil), e.pieces...)
	for len(pieces) > 0 {
		n, err := unix.Pwritev(fd, pieces[:min(len(pieces), most)], at)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return e.failed(fd, at, err)
		}
		at += int64(n)
		pieces = after(pieces, n)
	}
	return nil
}

func (e *Encoding) failed(fd int, at int64, err error) error {
	way := "check the file descriptor"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) {
		way = "release segments or raise the host's shared memory"
	}
	return fmt.Errorf("outrider: write a segment of %d bytes to fd %d: stopped at %d: %w; %s", e.size, fd, at, err, way)
}

// after returns what is left of pieces after n bytes. It may change the slice, not the bytes.
func after(pieces [][]byte, n int) [][]byte {
	for len(pieces) > 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n > 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}
