package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge/wire"
)

func TestAMemberAsksItsOwnerForWhoeverLooksAtTheRun(t *testing.T) {
	t.Parallel()
	p := &Process{members: map[uint32]*member{}}
	m := &member{p: p, join: &wire.Join{Run: &wire.Run{Name: "mine", Id: "17"}}, questions: map[uint64]*question{}}
	p.members[1] = m
	p.members[2] = &member{p: p, join: &wire.Join{Run: &wire.Run{Id: "18"}}, joining: &wire.Frame{}} // nothing is known of it yet
	look := func(run string) (status *wire.Status, err error) {
		p.look(run, func(s *wire.Status, e error) { status, err = s, e })
		return status, err
	}
	all, err := look("")
	require.NoError(t, err)
	require.Len(t, all.GetRuns(), 1)
	require.Equal(t, "mine", all.GetRuns()[0].GetName())
	require.False(t, all.GetRuns()[0].GetOwner())

	_, err = look("18")
	require.ErrorContains(t, err, "run 18 is not one of this sidecar's")

	var got *wire.Status
	p.look("17", func(s *wire.Status, _ error) { got = s })
	require.Nil(t, got, "before the owner has answered")
	m.questions[1].answer(&wire.Frame{Body: &wire.Frame_Stats_{Stats_: &wire.Stats{NextRollout: 5}}})
	require.EqualValues(t, 5, got.GetRuns()[0].GetStats().GetNextRollout())

	var lost error
	p.look("17", func(_ *wire.Status, err error) { lost = err })
	m.questions[2].answer(&wire.Frame{Error: &wire.Error{Kind: "owner_lost", Message: "gone"}})
	require.ErrorContains(t, lost, "gone")
}
