package bridge

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
)

func pair(t *testing.T) (*Conn, *Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	a, err := NewConn(fds[0])
	require.NoError(t, err)
	b, err := NewConn(fds[1])
	require.NoError(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func stateFrame(n int) *wire.Frame {
	return &wire.Frame{Id: 7, Body: &wire.Frame_StateBytes{StateBytes: &wire.StateBytes{State: bytes.Repeat([]byte{1, 2, 3, 4}, n/4)}}}
}

func TestConnCarriesFramesOfAnySizeWithDescriptors(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for _, size := range []int{0, 4, maxDatagram - 64, maxDatagram, 4 << 20} {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		_, err = file.WriteString("through")
		require.NoError(t, err)
		sent := stateFrame(size)
		require.NoError(t, a.Send(sent, int(file.Fd())))
		got, fds, err := b.Receive()
		require.NoError(t, err)
		require.True(t, proto.Equal(sent, got), "%d bytes", size)
		require.Len(t, fds, 1)
		text := make([]byte, 7)
		_, err = unix.Pread(fds[0], text, 0)
		require.NoError(t, err)
		require.Equal(t, "through", string(text))
		flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.NotZero(t, flags&unix.FD_CLOEXEC, "a received descriptor must not leak into children")
		CloseDescriptors(fds)
		require.NoError(t, file.Close())
	}
}

func TestConnSaysWhenThePeerCloses(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	require.NoError(t, a.Close())
	_, _, err := b.Receive()
	require.ErrorIs(t, err, io.EOF)
}

func TestConnRefusesBrokenFrames(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"no protobuf":                  {0xff, 0xff, 0xff},
		"spilled without a descriptor": mustMarshal(t, &wire.Frame{Body: &wire.Frame_Spilled{Spilled: &wire.Spilled{Bytes: 10}}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			require.NoError(t, a.write(data, nil))
			_, _, err := b.Receive()
			require.ErrorIs(t, err, ErrFrame)
		})
	}
	t.Run("spilled longer than its memory", func(t *testing.T) {
		t.Parallel()
		a, b := pair(t)
		fd, err := memfd("test", []byte("short"))
		require.NoError(t, err)
		defer unix.Close(fd)
		require.NoError(t, a.write(mustMarshal(t, &wire.Frame{Body: &wire.Frame_Spilled{Spilled: &wire.Spilled{Bytes: 1 << 50}}}), []int{fd}))
		_, _, err = b.Receive()
		require.ErrorIs(t, err, ErrFrame)
	})
}

func mustMarshal(t *testing.T, frame *wire.Frame) []byte {
	t.Helper()
	data, err := proto.Marshal(frame)
	require.NoError(t, err)
	return data
}

func TestListenerServesItsOwnUser(t *testing.T) {
	t.Parallel()
	listener, err := Listen()
	require.NoError(t, err)
	defer listener.Close()
	accepted := make(chan *Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			accepted <- conn
		}
	}()
	dialled, err := Dial(listener.Name())
	require.NoError(t, err)
	defer dialled.Close()
	conn := <-accepted
	defer conn.Close()
	require.NoError(t, dialled.Send(stateFrame(64)))
	frame, _, err := conn.Receive()
	require.NoError(t, err)
	require.EqualValues(t, 7, frame.GetId())
}
