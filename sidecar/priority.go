package sidecar

import (
	"os"
	"runtime"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// resetPriority undoes what Ray sets on its workers and children inherit: oom_score_adj 1000 (the kernel's first choice to kill) and
// nice 15. Either may be forbidden; then it stays and is logged.
func resetPriority(log hclog.Logger) {
	const adjust = "/proc/self/oom_score_adj"
	if err := os.WriteFile(adjust, []byte("0"), 0); err != nil {
		log.Info("oom_score_adj stays", "error", err)
	}
	// Linux returns 20 - nice from the raw call.
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && 20-nice > 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 0); err != nil {
			log.Info("nice stays", "nice", 20-nice, "error", err)
		}
	}
}

// useOneProcessor runs all goroutines on one thread at a time. A frame passes several goroutines, each with little to do: on one
// processor that is a switch within the thread, on more it is a thread that the kernel has to wake, several times a hop. The
// environment's GOMAXPROCS goes before it.
func useOneProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}
