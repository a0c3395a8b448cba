package arrowio

import (
	"github.com/apache/arrow/go/v15/arrow"
)

// Ids of the table fields below are those of the Arrow format's Schema.fbs.

// column is one field of the schema at any level, with what a batch needs to be read by it.
type column struct {
	name     string
	typ      arrow.DataType // of the array; a dictionary type when dict is set
	children []*column      // none when dict is set
	dict     *dictionary
}

// dictionary is what one dictionary id stands for. Several fields may share one.
type dictionary struct {
	id    int64
	value *column // its values
}

// schemaReader turns the schema message into columns and an arrow.Schema.
type schemaReader struct {
	f      *flat
	lim    Bounds
	fields int // fields of all levels read so far
	dicts  map[int64]*dictionary
}

func (r *schemaReader) read(header table) (*arrow.Schema, []*column) {
	switch header.int16(0, 0) {
	case 0:
	case 1:
		r.f.unsupported("big endian", "the schema declares big-endian data")
	default:
		r.f.damaged(header.pos, "byte order %d is not known", header.int16(0, 0))
	}
	v := header.vector(1, 4)
	cols, fields := r.vector(v, 1)
	meta := r.metadata(header, 2)
	if r.f.err != nil {
		return nil, nil
	}
	return arrow.NewSchema(fields, &meta), cols
}

// vector reads a vector of fields; depth is that of the fields themselves.
func (r *schemaReader) vector(v vector, depth int) ([]*column, []arrow.Field) {
	if v.n == 0 {
		return nil, nil
	}
	if depth > r.lim.Depth {
		r.f.unsupported("deep nesting", "more than %d levels", r.lim.Depth)
		return nil, nil
	}
	if r.fields += v.n; r.fields > r.lim.Fields {
		r.f.unsupported("many columns", "more than %d fields of all levels", r.lim.Fields)
		return nil, nil
	}
	cols, fields := make([]*column, 0, v.n), make([]arrow.Field, 0, v.n)
	for i := 0; i < v.n && r.f.err == nil; i++ {
		c, field := r.field(v.table(i), depth)
		if r.f.err != nil {
			break
		}
		cols, fields = append(cols, c), append(fields, field)
	}
	return cols, fields
}

// field reads one field. A dictionary-encoded field names the type of the values; the column that is read
// from a batch is then the indices.
func (r *schemaReader) field(t table, depth int) (*column, arrow.Field) {
	name := t.string(0)
	children, fields := r.vector(t.vector(5, 4), depth+1)
	if r.f.err != nil {
		return nil, arrow.Field{}
	}
	typ := r.typ(t, t.uint8(2), t.table(3), fields)
	if typ == nil {
		r.f.damaged(t.pos, "field %.40q has no type", name)
		return nil, arrow.Field{}
	}
	c := &column{name: name, typ: typ, children: children}
	if t.has(4) {
		c = r.encoded(t.table(4), c)
	}
	meta := r.metadata(t, 6)
	if r.f.err != nil {
		return nil, arrow.Field{}
	}
	return c, arrow.Field{Name: name, Type: c.typ, Nullable: t.bool(1), Metadata: meta}
}

// encoded returns the column of indices into a dictionary of values of the given column.
func (r *schemaReader) encoded(t table, value *column) *column {
	var index arrow.DataType = arrow.PrimitiveTypes.Int32 //nolint:staticcheck // the interface, not the type of the value
	if t.has(1) {
		if index = integerType(t.table(1)); index == nil {
			r.f.damaged(t.pos, "a dictionary index of %d bits", t.table(1).int32(0, 0))
			return value
		}
	}
	if kind := t.int16(3, 0); kind != 0 {
		r.f.damaged(t.pos, "dictionary kind %d is not known", kind)
		return value
	}
	id := t.int64(0)
	d, known := r.dicts[id]
	if !known {
		d = &dictionary{id: id, value: value}
		r.dicts[id] = d
	} else if !sameColumn(d.value, value) {
		r.f.damaged(t.pos, "dictionary %d has values of type %s for one field and of type %s for another", id, d.value.typ, value.typ)
	}
	typ := &arrow.DictionaryType{IndexType: index, ValueType: d.value.typ, Ordered: t.bool(2)}
	return &column{name: value.name, typ: typ, dict: d}
}

// sameColumn says whether two columns are read alike: equal types, equal dictionaries within.
func sameColumn(a, b *column) bool {
	if a.dict != b.dict || len(a.children) != len(b.children) || !arrow.TypeEqual(a.typ, b.typ) {
		return false
	}
	for i := range a.children {
		if !sameColumn(a.children[i], b.children[i]) {
			return false
		}
	}
	return true
}

// metadata reads a vector of keys and values.
func (r *schemaReader) metadata(t table, id int) arrow.Metadata {
	v := t.vector(id, 4)
	if v.n == 0 {
		return arrow.Metadata{}
	}
	var keys, values []string
	for i := 0; i < v.n && r.f.err == nil; i++ {
		kv := v.table(i)
		keys, values = append(keys, kv.string(0)), append(values, kv.string(1))
	}
	if r.f.err != nil {
		return arrow.Metadata{}
	}
	return arrow.NewMetadata(keys, values)
}
