package arrowio

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// benchRecord is a group of eight samples of so many tokens each.
func benchRecord(tokens int) arrow.Record {
	samples := make([]sample, 8)
	for i := range samples {
		samples[i] = good(1, int32(i), tokens/8, tokens-tokens/8)
	}
	return rollout(samples...)
}

func BenchmarkDecode(b *testing.B) {
	for _, tokens := range []int{10, 10_000, 1_000_000} {
		rec := benchRecord(tokens)
		stream := encoded(b, rec.Schema(), rec)
		rec.Release()
		b.Run(fmt.Sprintf("in-place/%dKB", len(stream)>>10), func(b *testing.B) {
			data := memory.NewBufferBytes(stream)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				s, err := Decode(data, Bounds{})
				require.NoError(b, err)
				s.Release()
			}
		})
		b.Run(fmt.Sprintf("stock/%dKB", len(stream)>>10), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := ipc.NewReader(bytes.NewReader(stream))
				require.NoError(b, err)
				for r.Next() {
				}
				r.Release()
			}
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, tokens := range []int{10, 10_000, 1_000_000} {
		rec := benchRecord(tokens)
		recs := []arrow.Record{rec}
		size := int64(len(encoded(b, rec.Schema(), rec)))
		b.Run(fmt.Sprintf("encode-write-seal-check/%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				s, err := NewSegment(rec.Schema(), recs)
				require.NoError(b, err)
				require.NoError(b, s.Close())
			}
		})
		rec.Release()
	}
}

func BenchmarkSummarize(b *testing.B) {
	rec := benchRecord(10_000)
	defer rec.Release()
	recs := []arrow.Record{rec}
	b.ReportAllocs()
	for b.Loop() {
		_, err := SummarizeRecords(rec.Schema(), recs, SchemaRules{})
		require.NoError(b, err)
	}
}
