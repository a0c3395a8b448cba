package sidecar

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/bridge/wire"
)

// logged collects what a logger of a path tells the shim.
func logged(t *testing.T, path string) (log hclog.Logger, said *[]string) {
	t.Helper()
	said = &[]string{}
	log, end := newLogger(path, hclog.Debug, func(frame *wire.Frame) { *said = append(*said, frame.GetLogLine().GetMessage()) })
	t.Cleanup(end)
	return log, said
}

const without = "the log file cannot be written, the run goes on without it; make room on its disk, or its directory writable"

func TestS10_06_AFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	log, said := logged(t, "/dev/full")
	require.Empty(t, *said)
	for range 3 {
		log.Info("a line")
	}
	require.Equal(t, []string{without + " path=/dev/full error=write /dev/full: no space left on device"}, *said)
	log.Warn("what the user is told")
	require.Equal(t, "what the user is told", (*said)[1])
	require.Len(t, *said, 2)
}

func TestS10_06_ADirectoryThatIsNoneIsSaidOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	log, said := logged(t, filepath.Join(file, "log"))
	log.Info("a line")
	require.Len(t, *said, 1)
	require.Contains(t, (*said)[0], without)
	require.Contains(t, (*said)[0], "not a directory")
}

// A pipe stands for a disk: full until somebody reads.
func TestS10_06_ADiskThatFillsLaterIsSaidOnceAndWrittenAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	log, said := logged(t, path)
	log.Info("one")
	require.Empty(t, *said)
	require.NoError(t, reader.Close())
	log.Info("two")
	log.Info("three")
	require.Len(t, *said, 1)
	reader, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	log.Info("four")
	line := make([]byte, 1<<10)
	n, err := reader.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "four")
	require.Len(t, *said, 1)
}
