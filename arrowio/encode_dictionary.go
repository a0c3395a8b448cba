package arrowio

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	flatbuffers "github.com/google/flatbuffers/go"
)

// plan is one field of the schema at any level as the encoder sees it.
type plan struct {
	typ      arrow.DataType // extension taken off
	children []*plan        // none of a dictionary type
	id       int64          // of a dictionary type
	values   *plan          // of a dictionary type
}

func (w *encoder) plans(fields []arrow.Field) ([]*plan, error) {
	ps := make([]*plan, len(fields))
	for i, f := range fields {
		p, err := w.plan(f.Type)
		if err != nil {
			return nil, err
		}
		ps[i] = p
	}
	return ps, nil
}

func (w *encoder) plan(t arrow.DataType) (*plan, error) {
	p := &plan{typ: storage(t)}
	if kind, _ := layoutOf(p.typ); kind == shapeOther {
		return nil, &UnsupportedError{Feature: p.typ.Name(), Detail: "as a column to encode"}
	}
	var err error
	switch t := p.typ.(type) {
	case *arrow.DictionaryType:
		if p.values, err = w.plan(t.ValueType); err != nil {
			return nil, err
		}
		p.id = w.next
		w.next++
	case arrow.NestedType:
		p.children, err = w.plans(t.Fields())
	}
	return p, err
}

// dictionaries sends the dictionaries of an array that the reader does not have, inner ones before those whose values
// look into them.
func (w *encoder) dictionaries(p *plan, d arrow.ArrayData) error {
	for i, c := range p.children {
		if err := w.dictionaries(c, d.Children()[i]); err != nil {
			return err
		}
	}
	if p.values == nil {
		return nil
	}
	values, former := d.Dictionary(), w.sent[p.id]
	if data, ok := values.(*array.Data); !ok || data == nil {
		if former != nil {
			return nil
		}
		empty := emptyData(p.typ.(*arrow.DictionaryType).ValueType)
		w.held = append(w.held, empty)
		values = empty
	}
	if err := w.dictionaries(p.values, values); err != nil || former != nil && sameValues(former, values) {
		return err
	}
	b := &body{}
	if err := b.array(p.values, values); err != nil {
		return err
	}
	w.message(headerDictionaryBatch, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT {
		data := b.encode(fb, int64(values.Len()))
		fb.StartObject(3)
		fb.PrependInt64Slot(0, p.id, 0)
		fb.PrependUOffsetTSlot(1, data, 0)
		return fb.EndObject()
	}, b)
	w.sent[p.id] = values
	return nil
}

// sameValues says whether two dictionaries hold the same, by indices and inner dictionaries, not by what those mean:
// a reader that has a new inner dictionary looks the outer's values up there.
func sameValues(a, b arrow.ArrayData) bool {
	if a == b {
		return true
	}
	x, y := array.MakeFromData(a), array.MakeFromData(b)
	defer x.Release()
	defer y.Release()
	return array.Equal(x, y)
}

// emptyData returns an array of no values; the caller releases it.
func emptyData(t arrow.DataType) *array.Data {
	var children []arrow.ArrayData
	if n, ok := storage(t).(arrow.NestedType); ok {
		for _, f := range n.Fields() {
			c := emptyData(f.Type)
			defer c.Release()
			children = append(children, c)
		}
	}
	kind, _ := layoutOf(t)
	return array.NewData(t, 0, noBuffers(kind), children, 0, 0)
}
