package node

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Rates are those of one core, in bytes per second, medians of several rounds.
type Rates struct {
	Bytes   int     `json:"bytes"`   // size of the segment measured
	Copy    float64 `json:"copy"`    // memcpy into warm memory, what the others are compared with
	Publish float64 `json:"publish"` // written into a fresh segment and sealed
	Scan    float64 `json:"scan"`    // mapped by a reader and read through once
	Free    float64 `json:"free"`    // given back by the last holder
}

const rounds = 5

// measure writes, seals, maps, reads and frees a segment of the given size several times.
func measure(size int) (Rates, error) {
	from, to := bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size)
	var took [4][]time.Duration
	for range rounds {
		start := time.Now()
		copy(to, from)
		took[0] = append(took[0], time.Since(start))
		if err := segment(from, &took); err != nil {
			return Rates{}, err
		}
	}
	rate := func(t []time.Duration) float64 {
		slices.Sort(t)
		return float64(size) / max(t[len(t)/2], 1).Seconds()
	}
	return Rates{Bytes: size, Copy: rate(took[0]), Publish: rate(took[1]), Scan: rate(took[2]), Free: rate(took[3])}, nil
}

// segment lives the life of one segment and appends how long its parts took.
func segment(from []byte, took *[4][]time.Duration) error {
	start := time.Now()
	fd, err := memfd()
	if err != nil {
		return err
	}
	defer func() { shut(fd) }()
	for at := 0; at < len(from); {
		n, err := unix.Pwrite(fd, from[at:], int64(at))
		if err != nil {
			return fmt.Errorf("outrider: write %d bytes of shared memory: stopped at %d: %w", len(from), at, err)
		}
		at += n
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != nil {
		return fmt.Errorf("outrider: seal: %w", err)
	}
	written := time.Now()
	// Private, as a trainer's process maps it: the same pages, on every kernel.
	data, err := unix.Mmap(fd, 0, len(from), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("outrider: map %d bytes of shared memory: %w", len(from), err)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("outrider: %d bytes of shared memory read back otherwise than they were written", len(from))
	}
	read := time.Now()
	_ = unix.Munmap(data)
	shut(fd)
	fd = -1
	freed := time.Now()
	took[1] = append(took[1], written.Sub(start))
	took[2] = append(took[2], read.Sub(written))
	took[3] = append(took[3], freed.Sub(read))
	return nil
}
