// Package flighttest has what tests of fetches between hosts share: a network that is cut, and a stock Flight to compare with.
package flighttest

import (
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cut passes bytes between clients and the server at an address, and cuts the first connection after so many bytes of the
// server's. It gives the address to dial instead.
func Cut(t testing.TB, address string, after int64) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for limit := after; ; limit = 1 << 40 {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				in.Close()
				return
			}
			go func() {
				_, _ = io.Copy(out, in)
				out.Close()
			}()
			go func() {
				_, _ = io.Copy(in, io.LimitReader(out, limit))
				in.Close()
				out.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// Stock is the Python of the work tree whose root is at that path, which has pyarrow's Flight; where there is none the test is
// skipped with the reason.
func Stock(t testing.TB, root string) string {
	t.Helper()
	python, err := filepath.Abs(filepath.Join(root, ".venv", "bin", "python"))
	require.NoError(t, err)
	if out, err := exec.Command(python, "-c", "import pyarrow.flight").CombinedOutput(); err != nil {
		t.Skipf("no stock Flight to compare with: %s: %v %s; make wheel sets it up", python, err, out)
	}
	return python
}
