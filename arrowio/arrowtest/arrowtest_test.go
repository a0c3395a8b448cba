package arrowtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
)

func TestRolloutsKeepTheDefaultRules(t *testing.T) {
	t.Parallel()
	s := arrowtest.Rollouts(t, 2, 7, 8)
	defer func() { require.NoError(t, s.Close()) }()
	groups, err := arrowio.Summarize(s, arrowio.DefaultRules())
	require.NoError(t, err)
	require.Len(t, groups, 2)
	require.Equal(t, []int32{0, 1}, groups[1].Slots)
	require.Equal(t, int64(8), groups[1].Group)
	require.Equal(t, []int64{7, 7, 8, 8}, arrowtest.Groups(s))
}

func TestTableHasOneRowForEachPrompt(t *testing.T) {
	t.Parallel()
	s := arrowtest.Table(t, 5)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, int64(5), s.Rows())
}
