package arrowio

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// allocs returns the bytes allocated by the process so far.
func allocs() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzDecode decodes anything. What reads must be whole: every value can be looked at, and it encodes to a stream that
// reads the same.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(40) {
		g := newGen(seed)
		s := schemaOf(g.typ(3), g.typ(2))
		rec := g.record(s, 1+g.IntN(6), int(seed%2)*30)
		f.Add(encoded(f, s, rec, rec))
		rec.Release()
	}
	rec := rollout(good(1, 0, 2, 3), good(1, 1, 3, 1), good(2, 0, 0, 2))
	f.Add(encoded(f, rec.Schema(), rec))
	_ = filepath.WalkDir(filepath.Join("..", "..", "shared", "corpus", "arrow"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".py" {
			return nil //nolint:nilerr // the corpus may be absent
		}
		if b, err := os.ReadFile(path); err == nil && len(b) < 4096 {
			f.Add(b)
		}
		return nil
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocs()
		s, err := Decode(memory.NewBufferBytes(b), Bounds{})
		require.Less(t, allocs()-before, uint64(4<<20+64*len(b)))
		if err != nil {
			requireTyped(t, err)
			return
		}
		defer s.Release()
		if s.Rows() > 1<<16 {
			return // a column without buffers: any number of rows is well formed
		}
		want, err := ColumnDigests(s.Schema(), s.Records(), -16<<19) // half of the usual limit
		if err != nil {
			requireTyped(t, err)
			return
		}
		again := decoded(t, encoded(t, s.Schema(), s.Records()...))
		defer again.Release()
		got, err := ColumnDigests(again.Schema(), again.Records(), 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, Fingerprint(s.Schema()), Fingerprint(again.Schema()))
		_, _ = SummarizeRecords(s.Schema(), s.Records(), SchemaRules{Columns: []ColumnRule{{Name: "c0", Type: arrow.PrimitiveTypes.Int8}}})
		_, _ = SummarizeRecords(s.Schema(), s.Records(), SchemaRules{})
	})
}
