package arrowio

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// textLimit bounds the canonical text of all columns of one stream, in bytes: a dictionary or a type without buffers
// can claim far more text than the stream has bytes.
const textLimit = 256 << 20

// ColumnDigests returns the digest of each column, in order: the lower-case hex SHA-256 of its canonical text, which is the
// text of the type and then a line for each row over all records. Numbers are their stored integers, floats f and their
// bits in hex, bytes and text x and hex, null is null whatever lies beneath; lists are [V,V], structs {V,V}, maps
// [{KEY,ITEM}], dictionary-encoded values those looked up. O(bytes).
// Error: *UnsupportedError when the text would be longer than 256 MiB plus 16 times the given size in bytes.
func ColumnDigests(schema *arrow.Schema, records []arrow.Record, size int64) ([]string, error) {
	left := textLimit + 16*size
	digests := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		h := sha256.New()
		t := &columnText{w: bufio.NewWriterSize(h, 16<<10), left: left}
		t.string(TypeText(f.Type))
		t.string("\n")
		for _, r := range records {
			c := r.Column(i)
			for row := 0; row < c.Len() && t.left > 0; row++ {
				t.value(c, row)
				t.string("\n")
			}
		}
		if left = t.left; left <= 0 {
			return nil, &UnsupportedError{Feature: "very long text", Detail: fmt.Sprintf("the values up to column %d (%.40s) are too long to digest", i, f.Name)}
		}
		_ = t.w.Flush() // a hash takes everything
		digests[i] = hex.EncodeToString(h.Sum(nil))
	}
	return digests, nil
}

// columnText writes canonical text until nothing is left of its bound.
type columnText struct {
	w       *bufio.Writer
	left    int64
	scratch []byte
}

func (t *columnText) string(s string) {
	t.left -= int64(len(s))
	_, _ = t.w.WriteString(s)
}

func (t *columnText) bytes(b []byte) {
	t.left -= int64(len(b))
	_, _ = t.w.Write(b)
}

func (t *columnText) int(x int64)   { t.bytes(strconv.AppendInt(t.scratch[:0], x, 10)) }
func (t *columnText) uint(x uint64) { t.bytes(strconv.AppendUint(t.scratch[:0], x, 10)) }

// hex writes bytes, piece by piece so that a long value needs no memory of its own.
func (t *columnText) hex(b []byte) {
	t.string("x")
	t.left -= 2 * int64(len(b))
	if t.left > 0 {
		_, _ = hex.NewEncoder(t.w).Write(b)
	}
}

func (t *columnText) float(bits uint64, digits int) {
	t.string("f")
	s := strconv.FormatUint(bits, 16)
	for range digits - len(s) {
		t.string("0")
	}
	t.string(s)
}

// tuple writes integers in brackets.
func (t *columnText) tuple(parts ...int64) {
	t.string("[")
	for i, p := range parts {
		if i > 0 {
			t.string(",")
		}
		t.int(p)
	}
	t.string("]")
}

// list writes the values from a to b of an array in brackets.
func (t *columnText) list(values arrow.Array, a, b int64) {
	t.string("[")
	for i := a; i < b && t.left > 0; i++ {
		if i > a {
			t.string(",")
		}
		t.value(values, int(i))
	}
	t.string("]")
}

// value writes one value.
func (t *columnText) value(a arrow.Array, i int) {
	if a.DataType().ID() == arrow.NULL || a.IsNull(i) {
		t.string("null")
		return
	}
	switch a := a.(type) {
	case *array.Boolean:
		t.string(strconv.FormatBool(a.Value(i)))
	case *array.Int8:
		t.int(int64(a.Value(i)))
	case *array.Int16:
		t.int(int64(a.Value(i)))
	case *array.Int32:
		t.int(int64(a.Value(i)))
	case *array.Int64:
		t.int(a.Value(i))
	case *array.Uint8:
		t.uint(uint64(a.Value(i)))
	case *array.Uint16:
		t.uint(uint64(a.Value(i)))
	case *array.Uint32:
		t.uint(uint64(a.Value(i)))
	case *array.Uint64:
		t.uint(a.Value(i))
	case *array.Float16:
		t.float(uint64(a.Value(i).Uint16()), 4)
	case *array.Float32:
		t.float(uint64(math.Float32bits(a.Value(i))), 8)
	case *array.Float64:
		t.float(math.Float64bits(a.Value(i)), 16)
	case *array.Binary:
		t.hex(a.Value(i))
	case *array.LargeBinary:
		t.hex(a.Value(i))
	case *array.String:
		t.hex([]byte(a.Value(i)))
	case *array.LargeString:
		t.hex([]byte(a.Value(i)))
	case *array.FixedSizeBinary:
		t.hex(a.Value(i))
	default:
		t.rare(a, i)
	}
}
