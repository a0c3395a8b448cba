package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
)

const (
	// maxDatagram is the largest frame sent as one datagram: below the kernel's default socket buffer (212,992 bytes), which also
	// pays for its own bookkeeping. A larger frame rides in a memfd.
	maxDatagram = 150 << 10
	// maxDescriptors is the kernel's limit for one message (SCM_MAX_FD in include/net/scm.h).
	maxDescriptors = 253
	// maxSpilled bounds what one frame may make the receiver allocate.
	maxSpilled = 256 << 20
)

// ErrFrame says that a peer broke the framing; the connection is of no use any more.
var ErrFrame = errors.New("bridge: broken frame")

// Conn carries frames and file descriptors over a SOCK_SEQPACKET socket: one frame, one datagram.
// Send may be called by many goroutines; Receive by one.
type Conn struct {
	socket *os.File // not with Go's poller: see readiness
	raw    syscall.RawConn
	read   *readiness

	sending sync.Mutex // guards scratch
	scratch []byte

	datagram []byte
	control  []byte
}

// NewConn takes ownership of a connected SOCK_SEQPACKET descriptor.
func NewConn(fd int) (*Conn, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_UNIX {
		unix.Close(fd)
		return nil, fmt.Errorf("bridge: descriptor %d is not a unix socket (%w)", fd, errors.Join(err, syscall.ENOTSOCK))
	}
	// A file that blocks is none of the poller's; every call says itself that it does not wait.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bridge: descriptor %d: %w", fd, err)
	}
	unix.CloseOnExec(fd)
	read, err := watch(uintptr(fd), unix.EPOLLIN)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	socket := os.NewFile(uintptr(fd), "outrider")
	raw, err := socket.SyscallConn()
	if err != nil {
		read.close()
		socket.Close()
		return nil, fmt.Errorf("bridge: descriptor %d: %w", fd, err)
	}
	return &Conn{
		socket: socket, raw: raw, read: read,
		datagram: make([]byte, maxDatagram+4096),
		control:  make([]byte, unix.CmsgSpace(maxDescriptors*4)),
	}, nil
}

// connOf takes a connection over from package net.
func connOf(socket *net.UnixConn) (*Conn, error) {
	defer socket.Close()
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	own := -1
	if controlled := raw.Control(func(fd uintptr) { own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); controlled != nil {
		return nil, controlled
	}
	if err != nil {
		return nil, err
	}
	return NewConn(own)
}

// Send writes one frame with its descriptors, which stay the caller's. It blocks while the peer's buffer is full.
func (c *Conn) Send(frame *wire.Frame, fds ...int) error {
	if len(fds) > maxDescriptors-1 {
		return fmt.Errorf("bridge: %d descriptors in one frame, the limit is %d", len(fds), maxDescriptors-1)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	data, err := c.encode(frame)
	if err != nil {
		return err
	}
	if len(data) > maxDatagram {
		return c.sendSpilled(data, fds)
	}
	return c.write(data, fds)
}

// TrySend is Send if that takes no wait. False: nothing was sent, and Send may have to wait, or says what is wrong.
func (c *Conn) TrySend(frame *wire.Frame, fds ...int) bool {
	if len(fds) >= maxDescriptors || !c.sending.TryLock() {
		return false
	}
	defer c.sending.Unlock()
	data, err := c.encode(frame)
	if err != nil || len(data) > maxDatagram {
		return false
	}
	sent, err := c.send(data, rightsOf(fds))
	return sent && err == nil
}

// encode writes a frame into the scratch.
func (c *Conn) encode(frame *wire.Frame) ([]byte, error) {
	data, err := proto.MarshalOptions{}.MarshalAppend(c.scratch[:0], frame)
	if err != nil {
		return nil, fmt.Errorf("bridge: encode frame: %w", err)
	}
	c.scratch = data[:0]
	return data, nil
}

func rightsOf(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return unix.UnixRights(fds...)
}

func (c *Conn) sendSpilled(data []byte, fds []int) error {
	body, err := memfd("outrider-frame", data)
	if err != nil {
		return err
	}
	defer unix.Close(body)
	c.scratch = nil
	head, err := proto.Marshal(&wire.Frame{Body: &wire.Frame_Spilled{Spilled: &wire.Spilled{Bytes: uint64(len(data))}}})
	if err != nil {
		return err
	}
	return c.write(head, append([]int{body}, fds...))
}

func (c *Conn) write(data []byte, fds []int) error {
	rights := rightsOf(fds)
	sent, err := c.send(data, rights)
	if sent || err != nil {
		return err
	}
	var room *readiness
	closed := c.raw.Control(func(fd uintptr) { room, err = watch(fd, unix.EPOLLOUT) })
	if closed != nil || err != nil {
		return cmp.Or(closed, err)
	}
	defer room.close()
	waited := room.until(func() bool {
		sent, err = c.send(data, rights)
		return sent || err != nil
	})
	return cmp.Or(waited, err)
}

// send sends one datagram unless the peer's buffer is full.
func (c *Conn) send(data, rights []byte) (sent bool, err error) {
	for again := true; again; again = errors.Is(err, unix.EINTR) {
		closed := c.raw.Control(func(fd uintptr) {
			err = unix.Sendmsg(int(fd), data, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		})
		if closed != nil {
			return false, closed
		}
	}
	if errors.Is(err, unix.EAGAIN) {
		return false, nil
	}
	return err == nil, err
}

// receive reads one datagram, as soon as there is one.
func (c *Conn) receive() (n, rights, flags int, err error) {
	waited := c.read.until(func() bool {
		closed := c.raw.Control(func(fd uintptr) {
			n, rights, flags, _, err = unix.Recvmsg(int(fd), c.datagram, c.control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		})
		err = cmp.Or(closed, err)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return n, rights, flags, cmp.Or(waited, err)
}

func memfd(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("bridge: memfd for a frame of %d bytes: %w", len(data), err)
	}
	for offset := 0; offset < len(data); {
		n, err := unix.Pwrite(fd, data[offset:], int64(offset))
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("bridge: write a frame of %d bytes: %w", len(data), err)
		}
		offset += n
	}
	return fd, nil
}

// Receive reads the next frame. The descriptors are the caller's to close. io.EOF: the peer has closed.
func (c *Conn) Receive() (*wire.Frame, []int, error) {
	n, rights, flags, err := c.receive()
	if err != nil {
		return nil, nil, err
	}
	fds, err := descriptors(c.control[:rights])
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		CloseDescriptors(fds)
		return nil, nil, io.EOF
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		CloseDescriptors(fds)
		return nil, nil, fmt.Errorf("%w: datagram or descriptors cut short", ErrFrame)
	}
	frame := &wire.Frame{}
	if err := proto.Unmarshal(c.datagram[:n], frame); err != nil {
		CloseDescriptors(fds)
		return nil, nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	spilled := frame.GetSpilled()
	if spilled == nil {
		return frame, fds, nil
	}
	frame, err = readSpilled(spilled.GetBytes(), fds)
	if err != nil {
		CloseDescriptors(fds)
		return nil, nil, err
	}
	unix.Close(fds[0])
	return frame, fds[1:], nil
}

func readSpilled(size uint64, fds []int) (*wire.Frame, error) {
	if len(fds) == 0 || size > maxSpilled {
		return nil, fmt.Errorf("%w: spilled frame of %d bytes with %d descriptors", ErrFrame, size, len(fds))
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fds[0], &stat); err != nil || uint64(stat.Size) < size {
		return nil, fmt.Errorf("%w: spilled frame of %d bytes in a descriptor of %d", ErrFrame, size, stat.Size)
	}
	data := make([]byte, size)
	for offset := 0; offset < len(data); {
		n, err := unix.Pread(fds[0], data[offset:], int64(offset))
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%w: spilled frame ends at byte %d of %d", ErrFrame, offset, size)
		}
		offset += n
	}
	frame := &wire.Frame{}
	if err := proto.Unmarshal(data, frame); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return frame, nil
}

func descriptors(control []byte) ([]int, error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	var fds []int
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // credentials or another kind that nobody asked for
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

// Ended reports whether the other end has closed. What it sent before can still be received.
func (c *Conn) Ended() bool {
	ended := false
	err := c.raw.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, _ := unix.Poll(look, 0)
		ended = n > 0 && look[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return ended || err != nil
}

// Close ends the connection; a blocked Receive returns.
func (c *Conn) Close() error {
	shut := c.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) }) // a blocked Send ends too; the peer may have gone
	return cmp.Or(shut, c.read.close(), c.socket.Close())
}

// CloseDescriptors closes descriptors that nobody takes over, for example what Receive handed out.
func CloseDescriptors(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
