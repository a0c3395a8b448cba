package arrowio

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// PrintSchema writes a line for each column, its name and its type, and then one for each entry of the schema's metadata.
func PrintSchema(w io.Writer, s *arrow.Schema) error {
	out := bufio.NewWriter(w)
	for _, f := range s.Fields() {
		null := ""
		if f.Nullable {
			null = ", nullable"
		}
		_, _ = fmt.Fprintf(out, "%s: %s%s\n", printable(f.Name), printable(f.Type.String()), null)
		printMetadata(out, "  ", f.Metadata)
	}
	printMetadata(out, "", s.Metadata())
	return out.Flush()
}

// printable keeps what a stranger wrote from steering the reader's terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

func printMetadata(w io.Writer, indent string, m arrow.Metadata) {
	for i, key := range m.Keys() {
		_, _ = fmt.Fprintf(w, "%smetadata %q = %q\n", indent, key, m.Values()[i])
	}
}

// PrintRows writes one JSON object a line for each row, its columns in order. Values that JSON has no form for are
// strings: NaN and the infinities, bytes in hex, times and dates (UTC), decimals as unscaled value and exponent.
// Maps are lists of pairs. It ends at the first error of w.
func PrintRows(w io.Writer, s *Stream) error {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10)}
	for _, rec := range s.Records() {
		for row := range int(rec.NumRows()) {
			p.fields(rec.Schema().Fields(), rec.Column, row)
			if err := p.w.WriteByte('\n'); err != nil {
				return fmt.Errorf("outrider: %w", err)
			}
		}
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("outrider: %w", err)
	}
	return nil
}

// printer writes values as JSON. A bufio.Writer keeps its first error, so that only the end of a row looks at it.
type printer struct {
	w       *bufio.Writer
	scratch []byte
}

func (p *printer) text(s string) { _, _ = p.w.WriteString(s) }

func (p *printer) quoted(v any) {
	b, _ := json.Marshal(fmt.Sprint(v)) // a string always has a form
	_, _ = p.w.Write(b)
}

func (p *printer) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.quoted(v)
		return
	}
	p.scratch = strconv.AppendFloat(p.scratch[:0], v, 'g', -1, bits)
	_, _ = p.w.Write(p.scratch)
}

func (p *printer) list(n int, item func(int)) {
	p.text("[")
	for i := range n {
		if i > 0 {
			p.text(",")
		}
		item(i)
	}
	p.text("]")
}

// value writes row i of an array.
func (p *printer) value(a arrow.Array, i int) {
	if a.DataType().ID() == arrow.NULL || a.IsNull(i) {
		p.text("null")
		return
	}
	switch a := a.(type) {
	case *array.Float16:
		p.float(float64(a.Value(i).Float32()), 32)
	case *array.Float32:
		p.float(float64(a.Value(i)), 32)
	case *array.Float64:
		p.float(a.Value(i), 64)
	case *array.String:
		p.quoted(a.Value(i))
	case *array.LargeString:
		p.quoted(a.Value(i))
	case interface{ Value(int) []byte }:
		p.quoted(hex.EncodeToString(a.Value(i)))
	case *array.Map: // before ListLike, which it is too: its entries are structs
		from, to := a.ValueOffsets(i)
		p.list(int(to-from), func(k int) {
			p.list(2, func(part int) { p.value([]arrow.Array{a.Keys(), a.Items()}[part], int(from)+k) })
		})
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		p.list(int(to-from), func(k int) { p.value(a.ListValues(), int(from)+k) })
	case *array.Struct:
		p.fields(a.DataType().(*arrow.StructType).Fields(), a.Field, i)
	case *array.Dictionary:
		p.value(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		p.value(a.Storage(), i)
	case *array.Timestamp:
		p.quoted(a.GetOneForMarshal(i)) // not ValueStr, which dies of a time zone that it does not know
	case *array.Decimal128:
		p.quoted(fmt.Sprintf("%se%d", a.Value(i).BigInt(), -int64(a.DataType().(*arrow.Decimal128Type).Scale)))
	case *array.Decimal256:
		p.quoted(fmt.Sprintf("%se%d", a.Value(i).BigInt(), -int64(a.DataType().(*arrow.Decimal256Type).Scale)))
	case *array.Date32, *array.Date64, *array.Time32, *array.Time64, *array.Duration,
		*array.MonthInterval, *array.DayTimeInterval, *array.MonthDayNanoInterval:
		p.quoted(a.ValueStr(i))
	default: // booleans and integers
		p.text(a.ValueStr(i))
	}
}

func (p *printer) fields(fields []arrow.Field, column func(int) arrow.Array, row int) {
	p.text("{")
	for i, f := range fields {
		if i > 0 {
			p.text(",")
		}
		p.quoted(f.Name)
		p.text(":")
		p.value(column(i), row)
	}
	p.text("}")
}
