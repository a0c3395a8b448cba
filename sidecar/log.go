package sidecar

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"outrider/bridge/wire"
)

// newLogger writes JSON lines to path, and what is WARN or above also to the shim. A path that cannot be written is said once and
// never stops a run.
func newLogger(path string, level hclog.Level, shim func(*wire.Frame)) (hclog.Logger, func()) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	var failed error
	if err != nil {
		failed = err
		file, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "outrider", Level: level, Output: file, JSONFormat: true})
	log.RegisterSink(&shimSink{shim})
	if failed != nil {
		log.Warn("no log file, the run goes on without", "path", path, "error", failed)
	}
	return log, func() { file.Close() }
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
