package arrowio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPrintRowsSaysWhatJSONHasNoFormFor(t *testing.T) {
	t.Parallel()
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		field("f", arrow.PrimitiveTypes.Float64),
		field("h", arrow.BinaryTypes.Binary),
		field("s", arrow.BinaryTypes.String),
		field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)),
		field("d", &arrow.Decimal128Type{Precision: 5, Scale: 2}),
		field("t", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Nowhere/Land"}),
		field("l", arrow.ListOf(arrow.StructOf(field("x", arrow.FixedWidthTypes.Boolean)))),
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, row := range []string{
		`{"f": "NaN", "h": "/wA=", "s": "\u001b[31mü", "m": [{"key": "k", "value": 1}], "d": "1.50", "t": "1970-01-01 00:00:01", "l": [{"x": true}, {"x": null}]}`,
		`{"f": 0.1, "h": null, "s": "", "m": [], "d": null, "t": null, "l": null}`,
	} {
		require.NoError(t, b.UnmarshalJSON([]byte(row)))
	}
	rec := b.NewRecord()
	defer rec.Release()
	s := decoded(t, encoded(t, schema, rec))
	defer s.Release()
	var out bytes.Buffer
	require.NoError(t, PrintRows(&out, s))
	require.Equal(t, []string{
		`{"f":"NaN","h":"ff00","s":"\u001b[31mü","m":[["k",1]],"d":"150e-2","t":"1970-01-01 00:00:01","l":[{"x":true},{"x":null}]}`,
		`{"f":0.1,"h":null,"s":"","m":[],"d":null,"t":null,"l":null}`, "",
	}, strings.Split(out.String(), "\n"))
}

func TestPrintRowsOfEveryTypeAreJSONObjects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		g := newGen(rapid.Uint64().Draw(r, "seed"))
		schema := schemaOf(g.typ(3), g.typ(3))
		rows := rapid.IntRange(0, 5).Draw(r, "rows")
		rec := g.record(schema, rows, 2)
		defer rec.Release()
		s := decoded(r, encoded(r, schema, rec))
		defer s.Release()
		var out bytes.Buffer
		require.NoError(r, PrintRows(&out, s))
		lines := strings.SplitAfter(out.String(), "\n")
		require.Len(r, lines, rows+1)
		for _, line := range lines[:rows] {
			require.True(r, json.Valid([]byte(line)), line)
		}
		require.NoError(r, PrintSchema(&out, s.Schema()))
	})
}

func TestPrintRowsEndsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	g := newGen(1)
	schema := schemaOf(arrow.PrimitiveTypes.Int64)
	rec := g.record(schema, 3, 2)
	defer rec.Release()
	s := decoded(t, encoded(t, schema, rec))
	defer s.Release()
	w := &closedPipe{}
	require.ErrorIs(t, PrintRows(w, s), errClosedPipe)
	require.Equal(t, 1, w.writes)
}

func TestPrintSchemaLeavesTheTerminalAlone(t *testing.T) {
	t.Parallel()
	meta := arrow.NewMetadata([]string{"domain"}, []string{"to\x1bken"})
	schema := arrow.NewSchema([]arrow.Field{{Name: "a\x1b[2J", Type: arrow.PrimitiveTypes.Int8, Nullable: true, Metadata: meta}}, &meta)
	var out bytes.Buffer
	require.NoError(t, PrintSchema(&out, schema))
	require.Equal(t, "a\uFFFD[2J: int8, nullable\n  metadata \"domain\" = \"to\\x1bken\"\nmetadata \"domain\" = \"to\\x1bken\"\n", out.String())
}

var errClosedPipe = errors.New("nobody reads")

type closedPipe struct{ writes int }

func (c *closedPipe) Write([]byte) (int, error) {
	c.writes++
	return 0, errClosedPipe
}
