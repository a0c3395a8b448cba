package arrowio

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/stretchr/testify/require"
)

func TestFingerprintsDifferWhereReadersWould(t *testing.T) {
	t.Parallel()
	p := arrow.PrimitiveTypes
	field := func(name string, typ arrow.DataType, nullable bool, kv ...string) arrow.Field {
		f := arrow.Field{Name: name, Type: typ, Nullable: nullable}
		if len(kv) > 0 {
			f.Metadata = arrow.NewMetadata([]string{kv[0]}, []string{kv[1]})
		}
		return f
	}
	list := func(name string, nullable bool) arrow.DataType {
		return arrow.ListOfField(field(name, p.Int8, nullable))
	}
	of := func(fields ...arrow.Field) [32]byte { return Fingerprint(arrow.NewSchema(fields, nil)) }
	sorted := arrow.MapOf(p.Int8, p.Int8)
	sorted.KeysSorted = true
	different := map[string][32]byte{
		"none":           of(),
		"base":           of(field("a", p.Int8, false)),
		"name":           of(field("b", p.Int8, false)),
		"type":           of(field("a", p.Uint8, false)),
		"nullable":       of(field("a", p.Int8, true)),
		"twice":          of(field("a", p.Int8, false), field("a", p.Int8, false)),
		"list":           of(field("a", list("item", false), false)),
		"item name":      of(field("a", list("element", false), false)),
		"item nullable":  of(field("a", list("item", true), false)),
		"domain":         of(field("a", list("item", false), false, DomainKey, "token")),
		"other domain":   of(field("a", list("item", false), false, DomainKey, "response")),
		"large list":     of(field("a", arrow.LargeListOfField(field("item", p.Int8, false)), false)),
		"two in a list":  of(field("a", arrow.FixedSizeListOfField(2, field("item", p.Int8, false)), false)),
		"four in a list": of(field("a", arrow.FixedSizeListOfField(4, field("item", p.Int8, false)), false)),
		"map":            of(field("a", arrow.MapOf(p.Int8, p.Int8), false)),
		"sorted map":     of(field("a", sorted, false)),
		"struct":         of(field("a", arrow.StructOf(field("x", p.Int8, false)), false)),
		"empty struct":   of(field("a", arrow.StructOf(), false)),
		"dictionary":     of(field("a", &arrow.DictionaryType{IndexType: p.Int8, ValueType: p.Int8}, false)),
		"wide index":     of(field("a", &arrow.DictionaryType{IndexType: p.Int16, ValueType: p.Int8}, false)),
		"ordered":        of(field("a", &arrow.DictionaryType{IndexType: p.Int8, ValueType: p.Int8, Ordered: true}, false)),
		"zone":           of(field("a", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, false)),
		"no zone":        of(field("a", &arrow.TimestampType{Unit: arrow.Second}, false)),
	}
	seen := map[[32]byte]string{}
	for name, print := range different {
		require.Empty(t, seen[print], "%s has the fingerprint of %s", name, seen[print])
		seen[print] = name
	}
	require.Equal(t, different["base"], of(field("a", p.Int8, false, "note", "anything")), "other metadata is no part of it")
}
