package sidecar

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
)

const someMaps = `7f0000000000-7f0000002000 r--p 00000000 00:01 11                         /memfd:outrider:segment (deleted)
7f0000010000-7f0000011000 rw-p 00000000 00:01 12                         /memfd:outrider-segment (deleted)
7f0000011000-7f0000013000 r--p 00001000 00:01 12                         /memfd:outrider-segment (deleted)
7f0000020000-7f0000030000 r--p 00000000 00:01 13                         /memfd:outrider:table (deleted)
7f0000030000-7f0000040000 r-xp 00000000 08:01 14                         /usr/lib/libc.so.6
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
`

func TestS11_15_WhatIsMappedIsReadFromTheKernel(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(proc, "7"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(proc, "7", "maps"), []byte(someMaps), 0o600))
	found, err := readMappings(proc, 7)
	require.NoError(t, err)
	require.Equal(t, map[uint64]int64{11: 0x2000, 12: 0x3000}, found)
	_, err = readMappings(proc, 8)
	require.ErrorContains(t, err, "process 8")
}

func TestS11_15_WhatIsMappedForLongCountsAsHeldUntilItIsGone(t *testing.T) {
	t.Parallel()
	var all mappings
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	all.seen(at(0), map[uint64]int64{1: 10, 2: 20})
	all.seen(at(5), map[uint64]int64{1: 10, 3: 30})
	same := func(want *wire.Mapped, now int, held time.Duration) {
		got := all.mapped(at(now), held)
		require.True(t, proto.Equal(want, got), got)
	}
	same(&wire.Mapped{Bytes: 40}, 9, 10*time.Second)
	same(&wire.Mapped{Bytes: 40, HeldSegments: 1, HeldBytes: 10, HeldMs: 10_000}, 10, 10*time.Second)
	same(&wire.Mapped{Bytes: 40, HeldSegments: 2, HeldBytes: 40, HeldMs: 15_000}, 15, 10*time.Second)
	same(&wire.Mapped{Bytes: 40}, 15, -1)
	all.seen(at(16), map[uint64]int64{2: 20}) // what comes again begins anew
	same(&wire.Mapped{Bytes: 20}, 16, 10*time.Second)
}
