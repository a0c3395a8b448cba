// Package node looks at what a host gives a run: kernel features, huge pages, memory, file descriptors, and how fast
// shared memory is written, read and freed. It is for the people who own nodes; a run needs none of it to be well.
package node

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Report is what was found. Its JSON is one object.
type Report struct {
	Kernel string `json:"kernel"` // release, as uname says it
	Cores  int    `json:"cores"`
	Facts  []Fact `json:"facts"`
	Rates  *Rates `json:"rates"` // nil where shared memory could not be measured: a fact says why
}

// Fact is one thing about the host.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Good  bool   `json:"good"`
	Costs string `json:"costs,omitempty"` // what a shortfall costs
	Mend  string `json:"mend,omitempty"`  // the command that ends it
}

// Look finds out about this host. It writes and reads at most size bytes of shared memory at a time for the rates,
// and leaves nothing behind.
func Look(size int) Report {
	r := Report{Kernel: kernel(), Cores: runtime.NumCPU()}
	r.Facts = append(r.Facts, sealing(), privateMapping(), pidfd(), HugePages(), memoryLimit(), descriptors(), temporary())
	rates, err := measure(size)
	if err != nil {
		r.Facts = append(r.Facts, Fact{
			Name: "shared memory", Value: err.Error(),
			Costs: "no rollout can be published", Mend: "free memory, or raise the container's memory limit",
		})
		return r
	}
	r.Rates = &rates
	return r
}

// Good says whether nothing falls short.
func (r Report) Good() bool {
	for _, f := range r.Facts {
		if !f.Good {
			return false
		}
	}
	return true
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// memfd makes a memfd that can be sealed; the caller closes it.
func memfd() (int, error) {
	fd, err := unix.MemfdCreate("outrider-node", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("outrider: memfd_create: %w", err)
	}
	return fd, nil
}

func shut(fd int) { _ = unix.Close(fd) }

func sealing() Fact {
	f := Fact{Name: "memfd sealing", Value: "yes", Good: true}
	fd, err := memfd()
	if err == nil {
		defer shut(fd)
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return Fact{
			Name: f.Name, Value: err.Error(),
			Costs: "Outrider does not run here", Mend: "use Linux 4.14 or later, and a container runtime that allows memfd_create",
		}
	}
	return f
}

// privateMapping looks how sealed memory may be mapped: kernels before 6.7 refuse a shared mapping even for reading.
// A private one reads the same pages, so nothing is lost.
func privateMapping() Fact {
	f := Fact{Name: "sealed mappings", Value: "shared", Good: true}
	fd, err := memfd()
	if err != nil {
		return f // sealing() has said it
	}
	defer shut(fd)
	if err := unix.Ftruncate(fd, int64(unix.Getpagesize())); err != nil {
		return f
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != nil {
		return f
	}
	data, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		f.Value = "private (kernel before 6.7): the same pages"
		return f
	}
	_ = unix.Munmap(data)
	return f
}

func pidfd() Fact {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return Fact{
			Name: "pidfd", Value: err.Error(),
			Costs: "a dead process whose socket a child keeps open is noticed by polling", Mend: "use Linux 5.3 or later",
		}
	}
	shut(fd)
	return Fact{Name: "pidfd", Value: "yes", Good: true}
}

var errNoSetting = errors.New("outrider: no setting in brackets")
