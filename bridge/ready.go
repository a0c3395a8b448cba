package bridge

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readiness waits until a socket is ready for one thing. Go's poller watches what it is given for reading and for writing, and a unix
// socket becomes writable whenever its peer has read: each frame would wake its sender once more, for nothing, just when the receiver
// works on it. So the poller gets an epoll instance that watches for one thing alone.
type readiness struct {
	file *os.File
	raw  syscall.RawConn
}

// watch waits for events of a socket, unix.EPOLLIN or unix.EPOLLOUT; its end counts as either.
func watch(socket uintptr, events uint32) (*readiness, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("bridge: watch a socket: %w", err)
	}
	// Of descriptors that block os.NewFile thinks that they cannot be polled.
	if err = unix.SetNonblock(fd, true); err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(socket), &unix.EpollEvent{Events: events})
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bridge: watch a socket: %w", err)
	}
	r := &readiness{file: os.NewFile(uintptr(fd), "outrider")}
	if r.raw, err = r.file.SyscallConn(); err != nil {
		r.file.Close()
		return nil, fmt.Errorf("bridge: watch a socket: %w", err)
	}
	return r, nil
}

// until calls try now and whenever the socket may be ready, until it returns true. Error: closed.
func (r *readiness) until(try func() bool) error {
	return r.raw.Read(func(uintptr) bool { return try() })
}

func (r *readiness) close() error { return r.file.Close() }
