package sidecar

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"outrider/bridge/wire"
)

// newLogger writes JSON lines to path, and what is WARN or above also to the shim. A file that cannot be opened or written, from the
// start or later, is said once to the shim and stops nothing: what it takes again is in it.
func newLogger(path string, level hclog.Level, shim func(*wire.Frame)) (hclog.Logger, func()) {
	sink := &shimSink{shim}
	file := &logFile{warn: func(err error) {
		sink.Accept("outrider", hclog.Warn, "the log file cannot be written, the run goes on without it; make room on its disk, or its directory writable",
			"path", path, "error", err)
	}}
	file.open(path)
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "outrider", Level: level, Output: file, JSONFormat: true})
	log.RegisterSink(sink)
	return log, func() { file.Close() }
}

// logFile is a file whose failures stop nobody. hclog serializes its writes.
type logFile struct {
	*os.File                 // nil: it could not be opened
	warn     func(err error) // nil: it has been said
}

func (f *logFile) open(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.File = file
	f.failed(err)
}

// Write writes what can be written, and never fails.
func (f *logFile) Write(line []byte) (int, error) {
	if f.File != nil {
		_, err := f.File.Write(line)
		f.failed(err)
	}
	return len(line), nil
}

func (f *logFile) failed(err error) {
	if err != nil && f.warn != nil {
		f.warn(err)
		f.warn = nil
	}
}

// shimSink sends warnings and errors to Python's logging, where the user looks.
type shimSink struct{ send func(*wire.Frame) }

func (s *shimSink) Accept(_ string, level hclog.Level, message string, args ...any) {
	if level < hclog.Warn {
		return
	}
	var line strings.Builder
	line.WriteString(message)
	for i := 0; i+1 < len(args); i += 2 {
		fmt.Fprintf(&line, " %v=%v", args[i], args[i+1])
	}
	s.send(&wire.Frame{Body: &wire.Frame_LogLine{LogLine: &wire.LogLine{Level: strings.ToUpper(level.String()), Message: line.String()}}})
}
