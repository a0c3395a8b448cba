package sidecar

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// heldHere puts n segments of session 7 into this process and names their memory.
func heldHere(t *testing.T, n int) []*wire.SegmentId {
	t.Helper()
	s := newSegments(hclog.NewNullLogger())
	t.Cleanup(func() { s.releaseAll(7) })
	var ids []*wire.SegmentId
	for i := range n {
		segment := arrowtest.Table(t, 1)
		id := memoryOf(segment.Fd())
		id.Number = uint64(i)
		s.hold(7, id.GetNumber(), segment, 1)
		ids = append(ids, id)
	}
	return ids
}

// memoryOf names what is behind a descriptor of this process.
func memoryOf(fd int) *wire.SegmentId {
	id := &wire.SegmentId{Holder: 7}
	nameMemory(id, fd)
	return id
}

func TestAFewSegmentsOfThisHostAreOpenedWithoutAskingTheirHolder(t *testing.T) {
	t.Parallel()
	ids := heldHere(t, openedAtMost+1)
	nobody := &wire.Endpoint{Session: 7, Host: "this", Socket: "outrider/nobody", Pid: uint32(os.Getpid())}
	p := &Process{host: "this"}
	fds, err := p.fetchNear("token", nobody, ids[:openedAtMost])
	require.NoError(t, err)
	defer bridge.CloseDescriptors(fds)
	require.NoError(t, checkSegments(ids[:openedAtMost], fds))
	for i, fd := range fds {
		require.NotEqual(t, int(ids[i].GetFd()), fd, "one of its own")
		require.Equal(t, ids[i].GetInode(), memoryOf(fd).GetInode())
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		require.NoError(t, err)
		require.Equal(t, unix.O_RDONLY, flags&unix.O_ACCMODE)
	}
	_, err = p.fetchNear("token", nobody, ids)
	require.ErrorIs(t, err, errUnreachable, "so many are asked for")
	nobody.Pid = 0
	_, err = p.fetchNear("token", nobody, ids[:1])
	require.ErrorIs(t, err, errUnreachable, "which process is not said")
}

func TestWhatIsBehindANumberIsLookedAt(t *testing.T) {
	t.Parallel()
	id := heldHere(t, 1)[0]
	pid := uint32(os.Getpid())
	open := func(change func(id *wire.SegmentId)) bool {
		other := &wire.SegmentId{Holder: 7, Fd: id.GetFd(), Inode: id.GetInode()}
		change(other)
		fds, ok := openHeld(pid, []*wire.SegmentId{id, other})
		bridge.CloseDescriptors(fds)
		return ok
	}
	require.True(t, open(func(*wire.SegmentId) {}))
	require.False(t, open(func(id *wire.SegmentId) { id.Inode = 0 }), "not said")
	require.False(t, open(func(id *wire.SegmentId) { id.Inode++ }), "another's memory has the number now")
	require.False(t, open(func(id *wire.SegmentId) { id.Fd = 1 << 20 }), "let go")

	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer pipe.Close()
	_, ok := openHeld(pid, []*wire.SegmentId{memoryOf(int(pipe.Fd()))})
	require.False(t, ok, "no memory at all; whoever opened it might wait for ever")
}

func TestAReportSaysWhereItsMemoryIs(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 4)
	worker.finish(2)
	lease := trainer.take(0)
	for _, group := range lease.GetGroups() {
		fds, ok := openHeld(uint32(worker.cmd.Process.Pid), []*wire.SegmentId{group.GetLocator().GetSegment()})
		require.True(t, ok)
		bridge.CloseDescriptors(fds)
	}
	for _, endpoint := range lease.GetEndpoints() {
		require.Contains(t, []int{worker.cmd.Process.Pid, trainer.cmd.Process.Pid}, int(endpoint.GetPid()), "holder or keeper")
	}
}
