package arrowio

import (
	"fmt"
	"os"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// fileBounds are those of a file that a person looks at value by value: rows beyond them would be a bomb, not data.
var fileBounds = Bounds{Rows: 1 << 22}

// ReadFile reads a regular file into memory whole and decodes it as an Arrow IPC stream, which the caller releases.
// A stream without end marker, or with bytes after it, is read as far as it goes.
// Errors: *DamagedError, *UnsupportedError, or why the file itself cannot be read.
func ReadFile(path string) (*Stream, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("outrider: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("outrider: %s is no regular file (%s): copy the stream into one", path, info.Mode().Type())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("outrider: %w", err)
	}
	return Decode(memory.NewBufferBytes(data), fileBounds)
}
