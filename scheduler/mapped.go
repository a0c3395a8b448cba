package scheduler

import (
	"fmt"
	"time"

	"outrider/leases"
)

// Mapped is what a rank's process has mapped of rollouts at one moment: whole segments, whatever rows of them it reads. Ranks of
// one host that map the same pages each count them. What a fork of the process keeps is not in it.
type Mapped struct {
	Bytes int64
	// Held is what has been mapped for longer than Times.HeldWarning: segments, their bytes, and for how long the first of them.
	HeldSegments, HeldBytes int64
	HeldFor                 time.Duration
}

// Mapped says what a rank's process has mapped, as often as that changes. No bound counts it: a rank that asks for a batch still
// has the one before, so the run would wait for whoever waits for it. Who holds something is reported once, until he holds
// nothing. Errors: ErrStale (not attached), ErrRefused (numbers that cannot be; nothing has changed).
func (s *Scheduler) Mapped(session leases.Session, now Mapped) error {
	m := s.members[session]
	switch {
	case m == nil || m.trainer == nil:
		return fmt.Errorf("%w: session %s says what it has mapped, and is no attached trainer rank; join as one", leases.ErrStale, session)
	case min(now.Bytes, now.HeldSegments, now.HeldBytes, int64(now.HeldFor)) < 0 || now.HeldBytes > now.Bytes:
		return fmt.Errorf("%w: session %s has mapped %+v; give counts of at least 0, and held bytes within the mapped ones", leases.ErrRefused, session, now)
	}
	m.mapped, m.mappedAt = now, s.clock
	switch {
	case now.HeldSegments == 0:
		m.saidHeld = false
	case !m.saidHeld:
		m.saidHeld = true
		s.log(Warn, fmt.Sprintf("held by actor %s pid %d for %.0f s, %d segments, %s: whoever keeps a batch or a view keeps its memory; copy what is needed for longer and drop the rest",
			m.name, m.pid, now.HeldFor.Seconds(), now.HeldSegments, inMB(now.HeldBytes)), "session", m.session, "host", m.host.name)
	}
	return nil
}

// inMB is for people: 412 MB, 0.05 MB.
func inMB(bytes int64) string {
	if bytes < 100e6 {
		return fmt.Sprintf("%.3g MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}

// mappedBy is what it has mapped, by its last word: what it holds it has held for as much longer since.
func (m *member) mappedBy(now time.Duration) Mapped {
	out := m.mapped
	if out.HeldSegments > 0 {
		out.HeldFor += max(0, now-m.mappedAt)
	}
	return out
}
