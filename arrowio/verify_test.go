package arrowio

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// fromJSON makes an array from arrow's JSON form.
func fromJSON(t *testing.T, typ arrow.DataType, text string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	require.NoError(t, b.UnmarshalJSON([]byte(text)))
	return b.NewArray()
}

// The texts and their sums were made by printf and sha256sum.
func TestColumnDigestsAreThoseOfTheirText(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	nan := memory.NewBufferBytes([]byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0xc0, 0x7f})
	x := array.NewFloat32Data(array.NewData(p.Float32, 3, []*memory.Buffer{nil, nan}, nil, 0, 0))
	s := fromJSON(t, arrow.BinaryTypes.String, `["ü", "", null]`)
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: p.Float32, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})
	valid := memory.NewBufferBytes([]byte{0b101})
	letters := words(texts("a", "b"), 0, 1, 0) // in lists: ["a"], [], null, ["b", "a"]
	for name, c := range map[string]struct {
		col    arrow.Array
		digest string
	}{
		"int32": {fromJSON(t, p.Int32, `[1, null, -3]`), "109c6bd8dcf381838d3f181c020c0dca687c0d4c1b26ac3e1df39b8c74181e0c"},
		"struct<x:float32,s:utf8>": {
			array.NewStructData(array.NewData(pair, 3, []*memory.Buffer{valid}, []arrow.ArrayData{x.Data(), s.Data()}, 1, 0)),
			"389715e634a5cd263bf6e13b19d3c9d72e9217ceae90870ed8ecaa89dc0ce19d",
		},
		"list<dictionary<int8,utf8>>": {
			array.NewListData(array.NewData(arrow.ListOf(letters.DataType()), 4, []*memory.Buffer{
				memory.NewBufferBytes([]byte{0b1011}),
				memory.NewBufferBytes([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}),
			}, []arrow.ArrayData{letters.Data()}, 1, 0)),
			"d44bbb0625c6d5881abef6e087731dc0b4769bbfa1fe7f2ac47437485d8877a3",
		},
	} {
		schema := schemaOf(c.col.DataType())
		rec := array.NewRecord(schema, []arrow.Array{c.col}, int64(c.col.Len()))
		got, err := ColumnDigests(schema, []arrow.Record{rec}, 0)
		require.NoError(t, err)
		require.Equal(t, []string{c.digest}, got, name)
		require.Equal(t, name, TypeText(c.col.DataType()))
	}
	got, err := ColumnDigests(schemaOf(p.Int32), nil, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"eda70ea48465f469be07c75ca5c77035979d9a4c5d5ee747f70fa5d108373fa9"}, got, "no rows: the type line alone")
}

func TestTextThatWouldBeTooLongIsNotMade(t *testing.T) {
	t.Parallel()
	long := texts(string(make([]byte, 1<<20)))
	s := schemaOf(words(long).DataType())
	rec := recordOf(s, words(long, make([]int8, 1000)...)) // 2 GB of text from 1 MB of bytes
	defer rec.Release()
	_, err := ColumnDigests(s, []arrow.Record{rec}, 1<<20)
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, "very long text", unsupported.Feature)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	s := schemaOf(arrow.PrimitiveTypes.Int32)
	rec := newGen(1).record(s, 4, 0)
	defer rec.Release()
	b := encoded(t, s, rec)
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "stream")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	v := Verify(file(b))
	require.Equal(t, VerdictRead, v.Verdict, v.Error)
	require.Equal(t, int64(4), v.Rows)
	require.Len(t, v.Columns["c0"], 64)
	require.Equal(t, v.Columns, Verify(file(b[:len(b)-8])).Columns, "an end marker may be missing")

	v = Verify(file(b[:len(b)-100]))
	require.Equal(t, VerdictDamaged, v.Verdict)
	require.Contains(t, v.Error, "damaged at byte")
	require.Nil(t, v.Columns)
	v = Verify(file([]byte("ARROW1\x00\x00")))
	require.Equal(t, VerdictUnsupported, v.Verdict)
	require.Equal(t, VerdictDamaged, Verify(t.TempDir()).Verdict, "a directory")
	require.Equal(t, VerdictDamaged, Verify("/dev/zero").Verdict, "a file without end")
	require.Equal(t, VerdictDamaged, Verify(filepath.Join(t.TempDir(), "none")).Verdict)

	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.Contains(t, string(text), `"verdict":"unsupported","rows":0,"columns":null,"error":"outrider: Arrow feature`)
}

// The corpus is not part of the project; where it lies beside it, all of it is run.
func TestS11_06_Corpus(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "shared", "corpus", "arrow")
	lines, err := os.ReadFile(filepath.Join(root, "manifest.jsonl"))
	if err != nil {
		t.Skip("no corpus beside the project:", err)
	}
	type columns []struct{ Name, Digest string }
	type reading struct {
		Rows    *int64
		Columns columns
	}
	run := 0
	for d := json.NewDecoder(bytes.NewReader(lines)); d.More(); run++ {
		var e struct {
			Path  string
			Allow []string
			reading
			Also []reading
		}
		require.NoError(t, d.Decode(&e))
		v := Verify(filepath.Join(root, e.Path))
		require.Contains(t, e.Allow, v.Verdict, "%s: %s", e.Path, v.Error)
		if v.Verdict != VerdictRead || e.Columns == nil {
			continue
		}
		fits := func(r reading) bool {
			if r.Rows == nil || *r.Rows != v.Rows {
				return false
			}
			names := map[string]bool{}
			for _, c := range r.Columns {
				names[c.Name] = names[c.Name] || v.Columns[c.Name] == c.Digest
			}
			for _, ok := range names {
				if !ok {
					return false
				}
			}
			return len(names) == len(v.Columns)
		}
		right := fits(e.reading)
		for _, r := range e.Also {
			right = right || fits(r)
		}
		require.True(t, right, "%s: %d rows, %v", e.Path, v.Rows, v.Columns)
	}
	require.Greater(t, run, 500)
}
