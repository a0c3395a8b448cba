package arrowio

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

// Fingerprint returns the SHA-256 of a text that holds, for each column in order, its name, type (with the names and
// nullability of nested fields), nullability and domain. Other metadata is no part of it. Two segments of equal
// fingerprint can be read by the same code.
func Fingerprint(schema *arrow.Schema) [32]byte {
	var b strings.Builder
	for _, f := range schema.Fields() {
		writeField(&b, f)
		domain, _ := f.Metadata.GetValue(DomainKey)
		b.WriteString(strconv.Quote(domain))
		b.WriteByte('\n')
	}
	return sha256.Sum256([]byte(b.String()))
}

func writeField(b *strings.Builder, f arrow.Field) {
	fmt.Fprintf(b, "%q %t ", f.Name, f.Nullable)
	writeShape(b, f.Type)
}

// writeShape writes a type so that nested names and nullability show; leaves as in the column digest.
func writeShape(b *strings.Builder, t arrow.DataType) {
	switch t := storage(t).(type) {
	case *arrow.DictionaryType:
		fmt.Fprintf(b, "dictionary %s %t(", TypeText(t.IndexType), t.Ordered)
		writeShape(b, t.ValueType)
		b.WriteByte(')')
	case *arrow.FixedSizeListType:
		fmt.Fprintf(b, "fixed_size_list %d(", t.Len())
		writeField(b, t.ElemField())
		b.WriteByte(')')
	case *arrow.MapType:
		fmt.Fprintf(b, "map %t(", t.KeysSorted)
		writeField(b, t.KeyField())
		writeField(b, t.ItemField())
		b.WriteByte(')')
	case arrow.NestedType:
		b.WriteString(t.Name() + "(")
		for _, f := range t.Fields() {
			writeField(b, f)
		}
		b.WriteByte(')')
	default:
		b.WriteString(TypeText(t) + " ")
	}
}
