package sidecar

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Ray's workers are at nice 15 and their children begin so, each thread for itself.
func TestEveryThreadLeavesNiceBehind(t *testing.T) {
	t.Parallel()
	niced, done := make(chan int), make(chan struct{})
	defer close(done)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		thread := unix.Gettid()
		if unix.Setpriority(unix.PRIO_PROCESS, thread, 15) != nil {
			thread = 0
		}
		niced <- thread
		<-done
	}()
	thread := <-niced
	require.NotZero(t, thread, "a thread may always become nicer")
	for _, err := range setThreads() {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			t.Skipf("this user may not take nice back: %v", err)
		}
		require.NoError(t, err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	seen := false
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		require.NoError(t, err)
		attr, err := unix.SchedGetAttr(id, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		require.NoError(t, err)
		require.Zero(t, attr.Nice, "thread %d", id)
		seen = seen || id == thread
	}
	require.True(t, seen)
}
