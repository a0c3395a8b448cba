package arrowio

import (
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"golang.org/x/sys/unix"
)

// seals is what makes memory a segment: nobody, whatever fd or mapping they hold, can change bytes or size again.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL

// sealWaits are the pauses after which sealing is tried again. The kernel answers EBUSY for a writable mapping, but also
// for pages that it holds itself for a moment, while it moves or compacts memory, after waiting for them less than 0.1 s.
var sealWaits = []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}

// seal sets all four seals at once, or finds them set.
func seal(fd int) error {
	err := retryBusy(func() error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		return err
	}, time.Sleep)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: fd %d has a writable mapping; unmap it before publishing", ErrWritable, fd)
	case errors.Is(err, unix.EPERM):
		return checkSealed(fd)
	}
	return fmt.Errorf("%w: fd %d: %w; create it with memfd_create and MFD_ALLOW_SEALING", ErrNotMemory, fd, err)
}

// retryBusy calls try until it gives anything but EBUSY, or the pauses are used up.
func retryBusy(try func() error, pause func(time.Duration)) error {
	for _, wait := range sealWaits {
		if err := try(); !errors.Is(err, unix.EBUSY) {
			return err
		}
		pause(wait)
	}
	return try()
}

func checkSealed(fd int) error {
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("%w: fd %d: %w; create it with memfd_create and MFD_ALLOW_SEALING", ErrNotMemory, fd, err)
	}
	if have&seals != seals {
		return fmt.Errorf("%w: fd %d has seals %#x of %#x; publish it through a sidecar, which seals it", ErrUnsealed, fd, have&seals, seals)
	}
	return nil
}

// checkWhole refuses memory with pages that were never written: a reader would allocate them, uncounted, and take a
// SIGBUS where there is no memory left. It returns the size in bytes.
func checkWhole(fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("outrider: size of fd %d: %w", fd, err)
	}
	if st.Blocks*512 < st.Size {
		return 0, fmt.Errorf("%w: fd %d has %d bytes, memory for %d; write every byte of it", ErrSparse, fd, st.Size, st.Blocks*512)
	}
	return st.Size, nil
}

// mapSealed maps sealed memory for reading. The buffer holds the mapping: it is unmapped when the last reference
// to the buffer, or to a slice of it, is released.
func mapSealed(fd int, size int64) (*memory.Buffer, error) {
	if size == 0 {
		return memory.NewBufferBytes(nil), nil
	}
	data, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err == unix.EPERM { // kernels before 6.7 refuse shared mappings of write-sealed memory
		data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	}
	if err != nil {
		return nil, fmt.Errorf("outrider: map %d bytes of fd %d: %w; raise vm.max_map_count or free memory", size, fd, err)
	}
	return memory.NewBufferWithAllocator(data, mapping{}), nil
}

// mapping is the allocator of a root buffer. It allocates nothing; Free unmaps.
type mapping struct{}

func (mapping) Allocate(int) []byte           { panic("arrowio: a mapping does not allocate") }
func (mapping) Reallocate(int, []byte) []byte { panic("arrowio: a mapping does not grow") }

func (mapping) Free(b []byte) {
	if err := unix.Munmap(b); err != nil {
		panic(fmt.Sprintf("arrowio: unmap %d bytes: %v", len(b), err))
	}
}
