package sidecar

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
	"outrider/scheduler"
)

const (
	// mappingsEvery is how often a rank's sidecar looks at what its process has mapped.
	mappingsEvery = time.Second
	// mappingsShare: looking takes at most this part of the time, however many mappings the process has.
	mappingsShare = 100
)

// mappings is what the parent process has mapped of segments, as the kernel says: views live for as long as Python likes, and a
// process that hangs says nothing. All fields belong to the Process's loop.
type mappings struct {
	bytes map[uint64]int64     // by inode
	since map[uint64]time.Time // when it was first seen
}

// watchMappings begins to tell this rank's owner what the process has mapped; held is the run's held_warning in ms, negative: none.
func (m *member) watchMappings(held int64) {
	m.held, m.mapped = time.Duration(held)*time.Millisecond, &wire.Mapped{}
	if m.p.mappings == nil {
		m.p.mappings = &mappings{}
		m.p.lookAtMappings(0)
	}
}

// lookAtMappings looks after a pause, and again for as long as the process lives.
func (p *Process) lookAtMappings(pause time.Duration) {
	time.AfterFunc(pause, func() {
		began := time.Now()
		bytes, err := readMappings(procfs.DefaultMountPoint, p.config.Parent)
		took := time.Since(began)
		p.loop.post(func() {
			if err != nil {
				p.log.Warn("what this process has mapped is not known, so nobody hears what it holds", "error", err)
				return
			}
			p.mappings.seen(began, bytes)
			for _, m := range p.members {
				m.sayMapped(began)
			}
			p.lookAtMappings(max(mappingsEvery, mappingsShare*took))
		})
	})
}

// seen takes note of what is mapped now.
func (a *mappings) seen(now time.Time, bytes map[uint64]int64) {
	since := make(map[uint64]time.Time, len(bytes))
	for inode := range bytes {
		since[inode] = now
		if before, known := a.since[inode]; known {
			since[inode] = before
		}
	}
	a.bytes, a.since = bytes, since
}

// mapped sums it up; what has been there for longer than held counts as held, with held negative nothing does.
func (a *mappings) mapped(now time.Time, held time.Duration) *wire.Mapped {
	out := &wire.Mapped{}
	for inode, bytes := range a.bytes {
		out.Bytes += bytes
		if age := now.Sub(a.since[inode]); held >= 0 && age >= held {
			out.HeldSegments++
			out.HeldBytes += bytes
			out.HeldMs = max(out.GetHeldMs(), age.Milliseconds())
		}
	}
	return out
}

// sayMapped tells a rank's owner, when something has come or gone.
func (m *member) sayMapped(now time.Time) {
	if m.trainer == nil || m.link == nil || m.ended != nil {
		return
	}
	mapped := m.p.mappings.mapped(now, m.held)
	same := proto.CloneOf(mapped)
	same.HeldMs = m.mapped.GetHeldMs() // time goes on by itself
	if !proto.Equal(same, m.mapped) {
		m.mapped = mapped
		m.link.out.put(&wire.Frame{Body: &wire.Frame_Mapped{Mapped: mapped}})
	}
}

// mapped is the owner's side: a rank says what its process has mapped.
func (o *owner) mapped(a *attached, mapped *wire.Mapped) {
	now := scheduler.Mapped{
		Bytes: mapped.GetBytes(), HeldSegments: mapped.GetHeldSegments(), HeldBytes: mapped.GetHeldBytes(), HeldFor: time.Duration(mapped.GetHeldMs()) * time.Millisecond,
	}
	if err := o.scheduler.Mapped(a.session, now); err != nil {
		o.log.Warn("what a rank has mapped was refused", "member", a.join.GetName(), "error", err)
	}
}

// readMappings reads from the kernel how many bytes of which segments, by inode, a process has mapped. proc is where its file system is.
func readMappings(proc string, pid int) (map[uint64]int64, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil, fmt.Errorf("outrider: %w", err)
	}
	process, err := fs.Proc(pid)
	if err != nil {
		return nil, fmt.Errorf("outrider: process %d: %w", pid, err)
	}
	all, err := process.ProcMaps()
	if err != nil {
		return nil, fmt.Errorf("outrider: mappings of process %d: %w", pid, err)
	}
	found := map[uint64]int64{}
	for _, one := range all {
		// Written by a shim, or landed here by a sidecar.
		if strings.HasPrefix(one.Pathname, "/memfd:outrider:segment") || strings.HasPrefix(one.Pathname, "/memfd:outrider-segment") {
			found[one.Inode] += int64(one.EndAddr - one.StartAddr)
		}
	}
	return found, nil
}
