package sidecar

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/bridge"
)

// possessions is what processes have that could outlive them: sockets and memory by inode, files by path.
type possessions struct{ sockets, memory, files map[string]bool }

func possessionsOf(t *testing.T, shims ...*shim) possessions {
	t.Helper()
	p := possessions{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	inherited := map[string]bool{} // what this process was started with, as by a shell that holds a lock
	own, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range own {
		to, _ := os.Readlink(fd)
		inherited[to] = true
	}
	for _, s := range shims {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.cmd.Process.Pid))
		require.NoError(t, err)
		for _, fd := range fds {
			to, err := os.Readlink(fd)
			switch {
			case err != nil: // closed meanwhile
			case strings.HasPrefix(to, "socket:["):
				p.sockets[strings.Trim(to, "socket:[]")] = true
			case strings.HasPrefix(to, "/memfd:"):
				p.memory[inodeOf(fd)] = true
			case strings.HasPrefix(to, "/") && !inherited[to] && !strings.HasPrefix(to, "/dev/") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/"):
				p.files[to] = true
			}
		}
	}
	return p
}

// left is what of it is there still, wherever.
func (p possessions) left(t *testing.T) []string {
	t.Helper()
	var all []string
	look := func(pattern, kind string, column int, of map[string]bool) {
		tables, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, table := range tables {
			lines, _ := os.ReadFile(table) // its process may have ended
			for line := range strings.Lines(string(lines)) {
				if words := strings.Fields(line); len(words) > column && of[words[column]] && strings.Contains(line, kind) {
					all = append(all, table+": "+strings.TrimSpace(line))
				}
			}
		}
	}
	look("/proc/net/unix", "", 6, p.sockets)
	look("/proc/net/tcp*", "", 9, p.sockets)
	look("/proc/[0-9]*/maps", "/memfd:", 4, p.memory) // a file on a disk may have the same inode
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	require.NoError(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "/memfd:") && p.memory[inodeOf(fd)] {
			all = append(all, fd+": "+to)
		}
	}
	return all
}

// inodeOf is that of an open file; "0" if it has been closed meanwhile.
func inodeOf(fd string) string {
	var file unix.Stat_t
	_ = unix.Stat(fd, &file)
	return fmt.Sprint(file.Ino)
}

// letGo closes what the shim was given.
func (s *shim) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fds := range s.fds {
		bridge.CloseDescriptors(fds)
	}
	s.fds = map[uint64][]int{}
}

func TestS10_09_NothingOfAKilledLifeIsThereToSweep(t *testing.T) {
	t.Parallel()
	for life := range 3 {
		owner, address := startOwner(t, testConfig(), 8, life > 0)
		trainer := startTrainer(t, address, -1, nil)
		worker := startWorker(t, address, "engine-0", 4)
		worker.finish(3)
		trainer.must(trainer.admitFrame(trainer.publish(trainer.take(0)))) // not committed: the next life has the same again
		all := []*shim{owner, trainer.shim, worker.shim}
		had := possessionsOf(t, all...)
		require.NotEmpty(t, had.sockets)
		require.NotEmpty(t, had.memory)
		for file := range had.files {
			require.Equal(t, "sidecar.log", filepath.Base(file), "the only files are logs, which are for people: %v", slices.Collect(maps.Keys(had.files)))
		}
		require.NotEmpty(t, had.left(t), "as long as somebody lives")
		for _, s := range all {
			s.letGo()
			s.kill()
		}
		require.Empty(t, had.left(t))
	}
}
