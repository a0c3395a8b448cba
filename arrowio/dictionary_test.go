package arrowio

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// words makes a dictionary-encoded column of int8 indices into values; an index below 0 is null.
func words(values arrow.Array, index ...int8) arrow.Array {
	b := array.NewInt8Builder(memory.DefaultAllocator)
	defer b.Release()
	for _, x := range index {
		if x < 0 {
			b.AppendNull()
		} else {
			b.Append(x)
		}
	}
	i := b.NewArray()
	defer i.Release()
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: values.DataType()}, i, values)
}

func texts(s ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(s, nil)
	return b.NewArray()
}

func recordOf(s *arrow.Schema, cols ...arrow.Array) arrow.Record {
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	return array.NewRecord(s, cols, int64(cols[0].Len()))
}

// kinds counts the messages of each kind.
func kinds(t *testing.T, b []byte) map[uint8]int {
	t.Helper()
	f, n := frames{buf: b, lim: Bounds{}.orDefaults()}, map[uint8]int{}
	for {
		m, err := f.next()
		require.NoError(t, err)
		if m == nil {
			return n
		}
		n[m.kind]++
	}
}

func TestADictionaryIsSentOncePerChange(t *testing.T) {
	t.Parallel()
	first := words(texts("a", "b"), 0, 1, -1)
	s := schemaOf(first.DataType())
	recs := []arrow.Record{
		recordOf(s, first),
		recordOf(s, words(texts("a", "b"), 1)), // equal, in other memory
		recordOf(s, words(texts("c"), 0, 0)),
		recordOf(s, words(texts("a", "b"), 1)),
	}
	defer releaseAll(recs)
	b := encoded(t, s, recs...)
	require.Equal(t, map[uint8]int{headerSchema: 1, headerDictionaryBatch: 3, headerRecordBatch: 4}, kinds(t, b))
	got := decoded(t, b)
	defer got.Release()
	sameRecords(t, s, recs, got.Records())
}

func TestDictionariesNest(t *testing.T) {
	t.Parallel()
	column := func(index []int8, inner ...string) arrow.Array { // a dictionary of lists of dictionary-encoded text
		values := words(texts(inner...), index...)
		list := array.NewListData(array.NewData(arrow.ListOf(values.DataType()), 2, []*memory.Buffer{nil, memory.NewBufferBytes([]byte{0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0})},
			[]arrow.ArrayData{values.Data()}, 0, 0))
		return words(list, 1, 0, 1)
	}
	straight, turned := []int8{0, 1, 1}, []int8{1, 0, 0}
	a := column(straight, "x", "y")
	s := schemaOf(a.DataType())
	recs := []arrow.Record{
		recordOf(s, a), recordOf(s, column(straight, "x", "z")), recordOf(s, column(straight, "x", "z")),
		recordOf(s, column(turned, "z", "x")), // the same values by another inner dictionary: outer indices must follow it
	}
	defer releaseAll(recs)
	stream := encoded(t, s, recs...)
	require.Equal(t, 6, kinds(t, stream)[headerDictionaryBatch], "inner and outer, three times")
	got := decoded(t, stream)
	defer got.Release()
	sameRecords(t, s, recs, got.Records())
}

// A column whose rows are all null may come without a dictionary ever having been sent.
func TestAMissingDictionaryIsEmptyWhereEveryRowIsNull(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]int8{{-1, -1}, {}} {
		col := words(texts("a"), rows...)
		s := schemaOf(col.DataType())
		rec := recordOf(s, col)
		stream := withoutDictionaries(t, encoded(t, s, rec))
		got := decoded(t, stream)
		require.Equal(t, int64(len(rows)), got.Rows())
		require.Equal(t, len(rows), got.Records()[0].Column(0).NullN())
		got.Release()
		rec.Release()
	}
	col := words(texts("a"), -1, 0)
	s := schemaOf(col.DataType())
	rec := recordOf(s, col)
	defer rec.Release()
	_, err := Decode(memory.NewBufferBytes(withoutDictionaries(t, encoded(t, s, rec))), Bounds{})
	require.ErrorContains(t, err, "dictionary 0 has not come before its first use")
}

func withoutDictionaries(t *testing.T, b []byte) []byte {
	t.Helper()
	f, out := frames{buf: b, lim: Bounds{}.orDefaults()}, []byte(nil)
	for {
		m, err := f.next()
		require.NoError(t, err)
		if m == nil {
			return append(out, b[len(b)-8:]...)
		}
		if m.kind != headerDictionaryBatch {
			out = append(out, b[m.at:m.bodyAt+m.body]...)
		}
	}
}

func TestAnArrayWithoutADictionaryIsSentWithAnEmptyOne(t *testing.T) {
	t.Parallel()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.ListOf(arrow.BinaryTypes.String)}
	s := schemaOf(typ)
	rec := recordOf(s, array.MakeFromData(array.NewData(typ, 0, []*memory.Buffer{nil, nil}, nil, 0, 0)))
	defer rec.Release()
	b := encoded(t, s, rec, rec)
	require.Equal(t, 2, kinds(t, b)[headerDictionaryBatch]+kinds(t, b)[headerRecordBatch]-1)
	got := decoded(t, b)
	defer got.Release()
	require.Zero(t, got.Rows())
	_, stock := stockRead(t, b)
	defer releaseAll(stock)
	require.Len(t, stock, 2)
}

func TestExtensionTypesTravelAsStorageWithTheirName(t *testing.T) {
	t.Parallel()
	typ := &tagged{arrow.ExtensionBase{Storage: arrow.ListOf(arrow.PrimitiveTypes.Int16)}}
	inner := newGen(3).array(typ.Storage, 5, 20)
	defer inner.Release()
	s := schemaOf(typ)
	rec := recordOf(s, array.NewExtensionArrayWithStorage(typ, inner))
	defer rec.Release()
	got := decoded(t, encoded(t, s, rec))
	defer got.Release()
	require.True(t, array.Equal(inner, got.Records()[0].Column(0)))
	name, _ := got.Schema().Field(0).Metadata.GetValue(extensionName)
	data, _ := got.Schema().Field(0).Metadata.GetValue(extensionData)
	require.Equal(t, []string{"test.tagged", "v1"}, []string{name, data})
	require.Equal(t, "list<int16>", TypeText(typ))
}

type taggedArray struct{ array.ExtensionArrayBase }

// tagged is an extension type.
type tagged struct{ arrow.ExtensionBase }

func (*tagged) ArrayType() reflect.Type { return reflect.TypeFor[taggedArray]() }
func (*tagged) ExtensionName() string   { return "test.tagged" }
func (*tagged) Serialize() string       { return "v1" }
func (*tagged) ExtensionEquals(other arrow.ExtensionType) bool {
	return other.ExtensionName() == "test.tagged"
}

func (*tagged) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) {
	return nil, arrow.ErrInvalid
}

func TestMetadataSurvives(t *testing.T) {
	t.Parallel()
	meta := arrow.NewMetadata([]string{"a", "", "a"}, []string{"1", "ü", "\xff\x00"})
	fields := []arrow.Field{
		{Name: "", Type: arrow.PrimitiveTypes.Int8, Metadata: meta},
		{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int8, Metadata: meta})},
		{Name: "l", Type: arrow.StructOf(arrow.Field{Name: "答", Type: arrow.Null, Nullable: true, Metadata: meta}, arrow.Field{Name: "答", Type: arrow.Null})},
	}
	s := arrow.NewSchema(fields, &meta)
	got := decoded(t, encoded(t, s))
	defer got.Release()
	require.True(t, s.Equal(got.Schema()))
	require.Equal(t, s.Metadata(), got.Schema().Metadata())
	require.Equal(t, meta, got.Schema().Field(1).Type.(*arrow.ListType).ElemField().Metadata)
	require.True(t, bytes.Contains(encoded(t, s), []byte("element")))
}
