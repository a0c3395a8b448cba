package sidecar

import (
	"os"
	"runtime"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// slice asks the kernel (6.12 and later; older ones take no notice) to let a thread that wakes run before one that computes: what a
// frame costs here is far less. It is the shortest that there is.
const slice = 100_000 // ns

// resetPriority undoes what Ray sets on its workers and children inherit: oom_score_adj 1000 (the kernel's first choice to kill) and
// nice 15. Either may be forbidden; then it stays and is logged.
func resetPriority(log hclog.Logger) {
	const adjust = "/proc/self/oom_score_adj"
	if err := os.WriteFile(adjust, []byte("0"), 0); err != nil {
		log.Info("oom_score_adj stays", "error", err)
	}
	for _, err := range setThreads() {
		log.Info("nice stays", "error", err)
	}
}

// setThreads gives every thread of this process nice 0 and short slices. Linux keeps both for each thread, and a thread begins with what its
// maker has: so it looks again until it has met no new one. What a thread is refused is an error;
// then it gets short slices alone.
func setThreads() []error {
	var refused []error
	for met, all := map[int]bool{}, true; all; {
		all = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return append(refused, err)
		}
		for _, task := range tasks {
			thread, err := strconv.Atoi(task.Name())
			if err != nil || met[thread] {
				continue
			}
			met[thread], all = true, true
			attr, err := unix.SchedGetAttr(thread, 0)
			if err != nil || attr.Policy != unix.SCHED_NORMAL {
				continue // it has ended, or somebody chose a policy for it
			}
			inherited := attr.Nice
			attr.Nice, attr.Runtime = min(inherited, 0), slice
			if err := unix.SchedSetAttr(thread, attr, 0); err != nil {
				refused = append(refused, err)
				attr.Nice = inherited
				_ = unix.SchedSetAttr(thread, attr, 0)
			}
		}
	}
	return refused
}

// useOneProcessor runs all goroutines on one thread at a time. A frame passes several goroutines, each with little to do: on one
// processor that is a switch within the thread, on more it is a thread that the kernel has to wake, several times a hop. The
// environment's GOMAXPROCS goes before it.
func useOneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}
