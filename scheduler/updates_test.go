package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// The only engine dies in the load; its next life loads the version before the update is recorded.
func TestS8_03_EngineThatCameBackDuringAnUpdateCounts(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Source: leases.Source{Len: 8}, GroupSize: 1, BatchGroups: 1, Owner: 9, Policy: Policy{MaxStaleness: NoBound}, Verify: true})
	require.NoError(t, err)
	s.Advance(0)
	engine := func(session leases.Session) Member {
		return Member{Session: session, Host: "h", Worker: &WorkerRole{Slots: 1, Engine: true}}
	}
	answers := func() map[Ticket]Answer {
		out := map[Ticket]Answer{}
		for _, e := range s.Effects() {
			if a, ok := e.(Answer); ok {
				out[a.Ticket] = a
			}
		}
		return out
	}
	for _, m := range []Member{{Session: 1, Host: "h", Client: true}, engine(2)} {
		_, err := s.Attach(m)
		require.NoError(t, err)
	}
	s.BeginUpdate(1, 1, 1, InFlight, nil)
	start := answers()[1].Value.(UpdateStart)
	require.Equal(t, []leases.Session{2}, start.Engines)
	s.Detach(2, "died in the load")
	s.Record(2, start.Hold)
	require.ErrorIs(t, answers()[2].Err, leases.ErrUpdateFailed, "nobody has the version")
	_, err = s.Attach(engine(3))
	require.NoError(t, err)
	_, err = s.Confirm(3, 1, nil)
	require.NoError(t, err)
	s.Record(3, start.Hold)
	require.Equal(t, []leases.Session{3}, answers()[3].Value.(UpdateReport).Confirmed)
	require.EqualValues(t, 1, s.Stats().Announced)
}
