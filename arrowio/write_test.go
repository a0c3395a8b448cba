package arrowio

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestManyPiecesAreWrittenInOrder(t *testing.T) {
	t.Parallel()
	types := make([]arrow.DataType, 700) // with their padding more pieces than one call takes
	for i := range types {
		types[i] = arrow.BinaryTypes.String
	}
	s := schemaOf(types...)
	rec := newGen(8).record(s, 3, 30)
	defer rec.Release()
	e, err := Encode(s, []arrow.Record{rec})
	require.NoError(t, err)
	require.Greater(t, len(e.pieces), maxPieces)
	fd := memfd(t, nil)
	require.NoError(t, e.WriteTo(fd))
	require.NoError(t, e.WriteTo(fd), "a second time, over the first")
	require.Equal(t, e.Size(), stat(t, fd).Size)
	e.Release()
	e.Release()
	seg, err := Seal(fd)
	require.NoError(t, err)
	defer func() { require.NoError(t, seg.Close()) }()
	sameRecords(t, s, []arrow.Record{rec}, seg.Records())
}

func TestWhatIsLeftAfterAShortWrite(t *testing.T) {
	t.Parallel()
	pieces := func() [][]byte { return [][]byte{{1, 2}, {3}, {4, 5, 6}} }
	for n, want := range [][][]byte{
		{{1, 2}, {3}, {4, 5, 6}}, {{2}, {3}, {4, 5, 6}}, {{3}, {4, 5, 6}}, {{4, 5, 6}}, {{5, 6}}, {{6}}, {},
	} {
		require.Equal(t, want, after(pieces(), n), "%d bytes", n)
	}
}

func TestAWriteThatFailsSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	e, err := Encode(schemaOf(arrow.Null), nil)
	require.NoError(t, err)
	defer e.Release()
	require.ErrorIs(t, e.WriteTo(-1), unix.EBADF)
	fd := memfd(t, make([]byte, 10))
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW)
	require.NoError(t, err)
	require.ErrorContains(t, e.WriteTo(fd), "stopped at ")
}

func TestEveryBufferBeginsOnABoundary(t *testing.T) {
	t.Parallel()
	s := schemaOf(leafTypes()...)
	rec := newGen(1).record(s, 9, 30)
	defer rec.Release()
	b := encoded(t, s, rec)
	a := anatomyOf(t, b)
	require.Zero(t, a.frame%alignment)
	require.Zero(t, a.body%alignment)
	require.Zero(t, (len(b)-8)%alignment, "only the end marker follows")
}

func TestPiecesAreWrittenInOrderHoweverManyACallTakes(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)
	rec := newGen(8).record(s, 3, 30)
	defer rec.Release()
	want := encoded(t, s, rec)
	e, err := Encode(s, []arrow.Record{rec})
	require.NoError(t, err)
	defer e.Release()
	for most := 1; most < 9; most++ {
		fd := memfd(t, nil)
		require.NoError(t, e.write(fd, most))
		got := make([]byte, len(want)+1)
		n, err := unix.Pread(fd, got, 0)
		require.NoError(t, err)
		require.Equal(t, want, got[:n], "%d pieces a call", most)
		require.NoError(t, unix.Close(fd))
	}
}
