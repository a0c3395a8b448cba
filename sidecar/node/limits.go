package node

import (
	"fmt"
	"math"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// leastDescriptors is what a process should be able to open: an engine and a trainer keep one for each segment that they
// use at the moment, beside Ray's own several hundred.
const leastDescriptors = 4096

// leastMemory is below what one run with a model of any size needs, in bytes.
const leastMemory = 2 << 30

// Memory is how many bytes processes here may use: the node's memory, or the container's limit when that is less; 0 when nothing says.
func Memory() int64 {
	var total uint64
	if host, err := procfs.NewDefaultFS(); err == nil {
		if info, err := host.Meminfo(); err == nil && info.MemTotalBytes != nil {
			total = *info.MemTotalBytes
		}
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	if total > math.MaxInt64 {
		return 0
	}
	return int64(total)
}

// memoryLimit reads what the container may use, and what the host has left.
func memoryLimit() Fact {
	f := Fact{Name: "memory", Good: true}
	host, err := procfs.NewDefaultFS()
	if err != nil {
		return Fact{Name: f.Name, Value: "unknown: " + err.Error(), Costs: "the byte budget has to be given by hand", Mend: "mount /proc"}
	}
	info, err := host.Meminfo()
	if err != nil || info.MemTotalBytes == nil || info.MemAvailableBytes == nil {
		return Fact{Name: f.Name, Value: "unknown", Costs: "the byte budget has to be given by hand", Mend: "mount /proc"}
	}
	f.Value = fmt.Sprintf("%s available of %s", bytesText(*info.MemAvailableBytes), bytesText(*info.MemTotalBytes))
	usable := *info.MemAvailableBytes
	if limit, err := memlimit.FromCgroup(); err == nil && limit < *info.MemTotalBytes {
		f.Value += fmt.Sprintf(", container limit %s", bytesText(limit))
		usable = min(usable, limit)
	}
	if usable < leastMemory {
		f.Good, f.Costs = false, "shared memory counts as the container's memory: few rollouts fit"
		f.Mend = "free memory, or raise the container's memory limit"
	}
	return f
}

// descriptors reads the limit that processes started here get. Go raises its own, so the parent is asked.
func descriptors() Fact {
	var limit unix.Rlimit
	if err := unix.Prlimit(unix.Getppid(), unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return Fact{Name: "file descriptors", Value: err.Error(), Costs: "unknown", Mend: "ulimit -n"}
		}
	}
	f := Fact{Name: "file descriptors", Value: fmt.Sprintf("%d, at most %d", limit.Cur, limit.Max), Good: limit.Cur >= leastDescriptors}
	if !f.Good {
		f.Costs = fmt.Sprintf("below %d, publishing may have to wait for readers", leastDescriptors)
		f.Mend = fmt.Sprintf("ulimit -n %d before ray start", min(max(limit.Max, leastDescriptors), 65536))
	}
	return f
}

// temporary looks whether Ray's session directory, where the sidecars' logs go, can be made.
func temporary() Fact {
	dir, err := os.MkdirTemp("", "outrider-node-*")
	if err != nil {
		return Fact{
			Name: "temporary files", Value: err.Error(),
			Costs: "Ray does not start, and sidecars keep no log", Mend: "chmod 1777 " + os.TempDir(),
		}
	}
	_ = os.Remove(dir)
	return Fact{Name: "temporary files", Value: os.TempDir() + " is writable", Good: true}
}

func bytesText(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// UsableMemory is how many bytes this host can give at this moment; 64 GiB where that is not to be learned.
func UsableMemory() int64 {
	usable := uint64(64 << 30)
	if host, err := procfs.NewDefaultFS(); err == nil {
		if info, err := host.Meminfo(); err == nil && info.MemAvailableBytes != nil {
			usable = *info.MemAvailableBytes
		}
	}
	if limit, err := memlimit.FromCgroup(); err == nil {
		usable = min(usable, limit)
	}
	return int64(usable)
}
