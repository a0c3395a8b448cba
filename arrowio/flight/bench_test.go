package flight

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio"
)

// processor reports the time that this process has used, for each GB of b.
func processor(b *testing.B, size int64) func() {
	used := func() float64 {
		var u unix.Rusage
		require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	before := used()
	return func() { b.ReportMetric((used()-before)/(float64(b.N)*float64(size)/1e9), "cpu-s/GB") }
}

// BenchmarkBetweenHosts moves one segment of 64 MB over the loopback into a new memfd: by a bare TCP connection, and as a sidecar does,
// with checksum, seals and validation. cpu-s/GB is both ends together.
func BenchmarkBetweenHosts(b *testing.B) {
	s := numbers(b, 1, 16, 1<<20)
	b.Run("tcp", func(b *testing.B) {
		root, err := s.Lend()
		require.NoError(b, err)
		defer root.Release()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(root.Bytes())
				conn.Close()
			}
		}()
		buffer := make([]byte, 1<<20)
		b.SetBytes(s.Size())
		defer processor(b, s.Size())()
		for b.Loop() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			require.NoError(b, err)
			fd, err := unix.MemfdCreate("bench", unix.MFD_CLOEXEC)
			require.NoError(b, err)
			at := int64(0)
			for {
				n, err := conn.Read(buffer)
				if n > 0 {
					at, err = arrowio.WriteAt(fd, [][]byte{buffer[:n]}, at)
				}
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(b, err)
			}
			require.Equal(b, s.Size(), at)
			_ = unix.Close(fd)
			conn.Close()
		}
	})
	b.Run("segment", func(b *testing.B) {
		c := client(b, serve(b, s), testLimit)
		b.SetBytes(s.Size())
		defer processor(b, s.Size())()
		b.ReportAllocs()
		for b.Loop() {
			got, err := c.Fetch(context.Background(), nil)
			require.NoError(b, err)
			require.NoError(b, got.Close())
		}
	})
}
