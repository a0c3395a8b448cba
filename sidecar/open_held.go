package sidecar

import (
	"fmt"

	"golang.org/x/sys/unix"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// openedAtMost is for how many segments a holder is not asked: each costs three system calls, which for many is more than one question.
const openedAtMost = 16

// nameMemory says in id where this process has its segment, for others of this host.
func nameMemory(id *wire.SegmentId, fd int) {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) == nil {
		id.Fd, id.Inode = uint32(fd), stat.Ino
	}
}

// openHeld opens segments that another process of this host has, by its descriptors in /proc: its user's processes may, and it need not
// wake up for that. False: some cannot be had in this way (another PID namespace, a holder that has let go or ended), and it is to be asked.
// What is opened is looked at before and after, for a number may mean something else meanwhile; a segment's inode lives as long as it.
func openHeld(pid uint32, ids []*wire.SegmentId) (fds []int, ok bool) {
	if pid == 0 || len(ids) > openedAtMost {
		return nil, false
	}
	for _, id := range ids {
		fd := openMemory(fmt.Sprintf("/proc/%d/fd/%d", pid, id.GetFd()), id.GetInode())
		if fd < 0 {
			bridge.CloseDescriptors(fds)
			return nil, false
		}
		fds = append(fds, fd)
	}
	return fds, true
}

// openMemory opens what is behind a descriptor, if it is the memfd with this inode; else -1.
func openMemory(path string, inode uint64) int {
	is := func(stat *unix.Stat_t) bool {
		return inode != 0 && stat.Ino == inode && stat.Mode&unix.S_IFMT == unix.S_IFREG
	}
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil || !is(&stat) {
		return -1
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return -1
	}
	if unix.Fstat(fd, &stat) != nil || !is(&stat) {
		unix.Close(fd)
		return -1
	}
	return fd
}
