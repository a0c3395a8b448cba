package arrowio

import "errors"

// Verdicts of Verify.
const (
	VerdictRead        = "read"        // a stream that this package reads
	VerdictDamaged     = "damaged"     // not a well-formed stream, or not readable as a file
	VerdictUnsupported = "unsupported" // uses a feature, or a size, that is left out
)

// Verdict is the answer of Verify. Its JSON is one object.
type Verdict struct {
	File    string            `json:"file"` // as it was given
	Verdict string            `json:"verdict"`
	Rows    int64             `json:"rows"`
	Columns map[string]string `json:"columns"` // name to ColumnDigests, null unless read; of columns of one name, the last
	Error   string            `json:"error,omitempty"`
}

// Verify reads a regular file as an Arrow IPC stream and digests its columns. The file is read into memory whole.
// A stream without end marker, or with bytes after it, is read as far as it goes.
func Verify(path string) Verdict {
	v := Verdict{File: path}
	err := v.read(path)
	var unsupported *UnsupportedError
	switch {
	case err == nil:
		v.Verdict = VerdictRead
		return v
	case errors.As(err, &unsupported):
		v.Verdict = VerdictUnsupported
	default:
		v.Verdict = VerdictDamaged
	}
	v.Rows, v.Columns, v.Error = 0, nil, err.Error()
	return v
}

func (v *Verdict) read(path string) error {
	s, err := ReadFile(path)
	if err != nil {
		return err
	}
	defer s.Release()
	digests, err := ColumnDigests(s.Schema(), s.Records(), int64(s.root.Len()))
	if err != nil {
		return err
	}
	v.Rows, v.Columns = s.Rows(), make(map[string]string, len(digests))
	for i, f := range s.Schema().Fields() {
		v.Columns[f.Name] = digests[i]
	}
	return nil
}
