package flight

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio/flight/flighttest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func dup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

func TestS11_11_AStockFlightClientReadsAGroup(t *testing.T) {
	t.Parallel()
	python := flighttest.Stock(t, "../..")
	address := serve(t, numbers(t, 3, 4, 50000))
	const script = `
import sys, pyarrow.flight as f
c = f.connect("grpc://" + sys.argv[1])
o = f.FlightCallOptions(headers=[(b"outrider-token", sys.argv[2].encode())])
for ticket in (b"rows", b"all"):
    t = c.do_get(f.Ticket(ticket), o).read_all()
    t.validate(full=True)
    print(t["row"].to_pylist(), [len(x) for x in t["tokens"]][:1], sum(t["tokens"][-1].as_py()))
try:
    c.do_get(f.Ticket(b"all"))
except f.FlightUnauthenticatedError:
    print("refused")
`
	out, err := exec.Command(python, "-c", script, address, testToken).CombinedOutput()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Equal(t, "[2, 3] [50000] 3749925000", lines[0])
	require.True(t, strings.HasPrefix(lines[1], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] [50000] "), lines[1])
	require.Equal(t, "refused", lines[2])
}

func TestS11_11_AStockFlightServerIsRead(t *testing.T) {
	t.Parallel()
	const script = `
import sys, pyarrow as pa, pyarrow.flight as f
class S(f.FlightServerBase):
    def do_get(self, context, ticket):
        words = pa.array(["é" * i for i in range(7)]).dictionary_encode()
        t = pa.table({"x": pa.array([[i] * i for i in range(7)], pa.list_(pa.int32())), "w": words})
        return f.RecordBatchStream(pa.Table.from_batches(t.to_batches(max_chunksize=3)))
s = S("grpc://127.0.0.1:0")
print(s.port, flush=True)
sys.stdin.read()
s.shutdown()
`
	cmd := exec.Command(flighttest.Stock(t, "../.."), "-c", script)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	got, err := client(t, "127.0.0.1:"+strings.TrimSpace(port), testLimit).Fetch(context.Background(), []byte("any"))
	require.NoError(t, err)
	defer got.Close()
	require.EqualValues(t, 7, got.Rows())
	row := int32(0)
	for _, r := range got.Records() {
		lists := r.Column(0).(*array.List)
		for i := range lists.Len() {
			a, b := lists.ValueOffsets(i)
			require.EqualValues(t, row, b-a)
			row++
		}
	}
}
