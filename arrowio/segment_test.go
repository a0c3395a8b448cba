package arrowio

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// memfd returns a sealable memfd that holds b.
func memfd(t *testing.T, b []byte) int {
	t.Helper()
	fd, err := unix.MemfdCreate("outrider-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	n, err := unix.Pwrite(fd, b, 0)
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	return fd
}

// sameFile says whether fd is the memory that it was before: another test may have got its number.
func sameFile(t *testing.T, fd int, before unix.Stat_t) bool {
	t.Helper()
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Ino == before.Ino && st.Dev == before.Dev
}

func stat(t *testing.T, fd int) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &st))
	return st
}

// segment returns a segment of random records.
func segment(t *testing.T, rows int, types ...arrow.DataType) *Segment {
	t.Helper()
	s := schemaOf(types...)
	rec := newGen(9).record(s, rows, 20)
	defer rec.Release()
	seg, err := NewSegment(s, []arrow.Record{rec})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, seg.Close()) })
	return seg
}

// buffersOf calls use for every buffer of an array.
func buffersOf(d arrow.ArrayData, use func([]byte)) {
	for _, b := range d.Buffers() {
		if b != nil && b.Len() > 0 {
			use(b.Bytes())
		}
	}
	for _, c := range d.Children() {
		buffersOf(c, use)
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		buffersOf(d.Dictionary(), use)
	}
}

func TestS11_02_EveryBufferLiesInsideTheMappingOnABoundary(t *testing.T) {
	t.Parallel()
	types := leafTypes()
	for _, leaf := range leafTypes() {
		types = append(types, arrow.ListOf(leaf), arrow.MapOf(arrow.BinaryTypes.String, leaf))
	}
	types = append(types, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
	seg := segment(t, 100, types...)
	root := seg.stream.root.Bytes()
	from := uintptr(unsafe.Pointer(&root[0]))
	to := from + uintptr(len(root))
	seen := 0
	for _, c := range seg.Records()[0].Columns() {
		buffersOf(c.Data(), func(b []byte) {
			at := uintptr(unsafe.Pointer(&b[0]))
			require.GreaterOrEqual(t, at, from)
			require.LessOrEqual(t, at+uintptr(len(b)), to)
			require.Zero(t, at%alignment)
			seen++
		})
	}
	require.Greater(t, seen, len(types))
}

func TestS11_03_ASealedSegmentCannotBeChanged(t *testing.T) {
	t.Parallel()
	seg := segment(t, 10, arrow.PrimitiveTypes.Int32)
	fd, size := seg.Fd(), seg.Size()

	_, err := unix.Pwrite(fd, []byte{1}, 0)
	require.ErrorIs(t, err, unix.EPERM, "write")
	require.ErrorIs(t, unix.Ftruncate(fd, size+1), unix.EPERM, "grow")
	require.ErrorIs(t, unix.Ftruncate(fd, size-1), unix.EPERM, "shrink")
	_, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EPERM, "map writable")
	require.ErrorIs(t, unix.Mprotect(seg.stream.root.Bytes(), unix.PROT_READ|unix.PROT_WRITE), unix.EACCES, "make the mapping writable")
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE)
	require.ErrorIs(t, err, unix.EPERM, "seal further")

	require.Panics(t, func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		seg.stream.root.Bytes()[0] = 1
	}, "write through the mapping")
}

func TestS11_04_AWritableMappingKeepsMemoryFromBeingSealed(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.PrimitiveTypes.Int32)
	rec := newGen(1).record(s, 5, 0)
	defer rec.Release()
	b := encoded(t, s, rec)
	fd := memfd(t, b)
	again, err := unix.Dup(fd)
	require.NoError(t, err)
	writer, err := unix.Mmap(fd, 0, len(b), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	before := stat(t, fd)

	_, err = Seal(fd)
	require.ErrorIs(t, err, ErrWritable)
	require.False(t, sameFile(t, fd, before), "the fd is closed on error")

	require.NoError(t, unix.Munmap(writer))
	seg, err := Seal(again)
	require.NoError(t, err)
	require.Equal(t, int64(5), seg.Rows())
	require.NoError(t, seg.Close())
}

func TestOpenWantsAllFourSeals(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.PrimitiveTypes.Int32)
	b := encoded(t, s)
	for _, have := range []int{0, unix.F_SEAL_WRITE, seals &^ unix.F_SEAL_SEAL, seals &^ unix.F_SEAL_WRITE} {
		fd := memfd(t, b)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, have)
		require.NoError(t, err)
		_, err = Open(fd)
		require.ErrorIs(t, err, ErrUnsealed, "seals %#x", have)
	}
	seg := segment(t, 3, arrow.BinaryTypes.String)
	fd, err := unix.Dup(seg.Fd())
	require.NoError(t, err)
	again, err := Open(fd)
	require.NoError(t, err)
	require.Equal(t, seg.SchemaFingerprint(), again.SchemaFingerprint())
	a, err := seg.ContentDigest()
	require.NoError(t, err)
	b2, err := again.ContentDigest()
	require.NoError(t, err)
	require.Equal(t, a, b2)
	require.Equal(t, a, sha256.Sum256(again.stream.root.Bytes()))
	require.NoError(t, again.Close())
	sealed, err := Seal(mustDup(t, seg.Fd()))
	require.NoError(t, err, "sealing what is sealed")
	require.NoError(t, sealed.Close())
}

func mustDup(t *testing.T, fd int) int {
	t.Helper()
	again, err := unix.Dup(fd)
	require.NoError(t, err)
	return again
}

func TestSealRefusesWhatIsNoWholeMemory(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer file.Close()
	_, err = Seal(mustDup(t, int(file.Fd())))
	require.ErrorIs(t, err, ErrNotMemory)
	_, err = Seal(-1)
	require.ErrorIs(t, err, ErrNotMemory)

	b := encoded(t, schemaOf(arrow.PrimitiveTypes.Int32))
	sparse := memfd(t, b)
	require.NoError(t, unix.Ftruncate(sparse, 1<<20))
	_, err = Seal(sparse)
	require.ErrorIs(t, err, ErrSparse)

	var damaged *DamagedError
	_, err = Seal(memfd(t, append(b, 0)))
	require.ErrorAs(t, err, &damaged, "a byte after the end marker")
	require.Equal(t, int64(len(b)), damaged.Offset)
	_, err = Seal(memfd(t, b[:len(b)-8]))
	require.ErrorAs(t, err, &damaged, "no end marker")
	_, err = Seal(memfd(t, nil))
	require.ErrorAs(t, err, &damaged, "nothing at all")
}

func TestRecordsOutliveTheirSegment(t *testing.T) {
	t.Parallel()
	seg := segment(t, 20, arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.BinaryTypes.String)
	want, err := ColumnDigests(seg.Schema(), seg.Records(), seg.Size())
	require.NoError(t, err)
	kept := seg.Records()[0]
	kept.Retain()
	require.NoError(t, seg.Close())
	require.NoError(t, seg.Close(), "idempotent")
	require.Equal(t, -1, seg.Fd())
	_, err = seg.ContentDigest()
	require.ErrorIs(t, err, ErrClosed)
	_, err = Summarize(seg, DefaultRules())
	require.ErrorIs(t, err, ErrClosed)
	got, err := ColumnDigests(kept.Schema(), []arrow.Record{kept}, seg.Size())
	require.NoError(t, err)
	require.Equal(t, want, got)
	kept.Release()
}

func TestTheLastReleaseFreesTheRootAndNothingElseIsAllocated(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.ListOf(arrow.PrimitiveTypes.Int32), &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
	rec := newGen(5).record(s, 30, 10)
	defer rec.Release()
	other := newGen(6).record(s, 30, 10) // with another dictionary, which replaces the first
	defer other.Release()
	b := encoded(t, s, rec, other)
	require.Equal(t, 2, kinds(t, b)[headerDictionaryBatch])
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	root := memory.NewBufferWithAllocator(mem.Allocate(len(b)), mem)
	copy(root.Bytes(), b)
	require.Equal(t, len(b), mem.CurrentAlloc())
	stream, err := Decode(root, Bounds{})
	require.NoError(t, err)
	root.Release()
	kept := stream.Records()[1]
	kept.Retain()
	stream.Release()
	stream.Release()
	require.Equal(t, len(b), mem.CurrentAlloc(), "the record that is kept keeps the bytes")
	kept.Release()
	mem.AssertSize(t, 0)

	for cut := range b { // nor does a stream that is refused keep anything
		root := memory.NewBufferWithAllocator(mem.Allocate(cut), mem)
		copy(root.Bytes(), b)
		if s, err := Decode(root, Bounds{}); err == nil {
			s.Release()
		}
		root.Release()
		mem.AssertSize(t, 0)
	}
}

func TestManyGoroutinesReadOneSegment(t *testing.T) {
	t.Parallel()
	seg := segment(t, 200, arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String})
	other, err := Open(mustDup(t, seg.Fd())) // the first use of each array of seg is by many at once
	require.NoError(t, err)
	want, err := ColumnDigests(other.Schema(), other.Records(), other.Size())
	require.NoError(t, err)
	require.NoError(t, other.Close())
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			kept := seg.Records()[0]
			kept.Retain()
			part := kept.NewSlice(10, 50)
			part.Release()
			got, err := ColumnDigests(seg.Schema(), []arrow.Record{kept}, seg.Size())
			kept.Release()
			if err != nil || want[0] != got[0] || want[2] != got[2] {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			_, err = seg.ContentDigest()
			if err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
}

// Pages that the kernel holds for a moment look like a writable mapping.
func TestS11_04_SealingIsTriedAgainWhileBusy(t *testing.T) {
	t.Parallel()
	for busy := range 8 {
		tries, waited := 0, time.Duration(0)
		err := retryBusy(func() error {
			if tries++; tries <= busy {
				return unix.EBUSY
			}
			return unix.EPERM
		}, func(d time.Duration) { waited += d })
		if busy <= len(sealWaits) {
			require.ErrorIs(t, err, unix.EPERM)
			require.Equal(t, busy+1, tries)
		} else {
			require.ErrorIs(t, err, unix.EBUSY)
			require.Equal(t, len(sealWaits)+1, tries)
		}
		require.Less(t, waited, time.Second)
	}
}
