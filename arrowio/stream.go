package arrowio

import (
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/endian"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Stream is a decoded Arrow IPC stream. Its records alias the bytes that were decoded and keep them alive.
// Safe for concurrent use.
type Stream struct {
	schema  *arrow.Schema
	records []arrow.Record
	rows    int64
	end     int64 // position after the end marker, or after the last message
	ended   bool  // the stream has an end marker
	root    *memory.Buffer
	release sync.Once
}

// Schema returns the schema.
func (s *Stream) Schema() *arrow.Schema { return s.schema }

// Records returns the record batches in order, borrowed: who keeps one beyond Release retains it.
func (s *Stream) Records() []arrow.Record { return s.records }

// Rows returns the rows of all record batches together.
func (s *Stream) Rows() int64 { return s.rows }

// End returns the position in bytes after the stream, and whether an end marker stands before it.
// What follows that position is not part of the stream and was not looked at.
func (s *Stream) End() (at int64, marked bool) { return s.end, s.ended }

// Release lets go of the records and of the bytes. Idempotent.
func (s *Stream) Release() {
	s.release.Do(func() {
		for _, r := range s.records {
			r.Release()
		}
		s.root.Release()
	})
}

// Decode reads an uncompressed little-endian Arrow IPC stream (metadata V4 or V5, both framings) in place:
// every buffer of every array is a slice of data, which the stream retains until Release. Data must not change
// while anything of it is in use.
//
// Each length is held against the bytes that are there before anything is allocated or walked by it. Time and
// memory are O(metadata + rows), never O(bytes). Extension types read as their storage.
// Errors: *DamagedError, *UnsupportedError.
//
// The format is that of the Arrow columnar specification, section "Serialization and Interprocess Communication",
// with the tables of Message.fbs and Schema.fbs.
func Decode(data *memory.Buffer, lim Bounds) (*Stream, error) {
	if endian.IsBigEndian {
		return nil, &UnsupportedError{Feature: "big endian", Detail: "this host"}
	}
	d := &decoder{frames: frames{buf: data.Bytes(), lim: lim.orDefaults()}, root: data, dicts: map[*dictionary]*array.Data{}}
	data.Retain()
	s := &Stream{root: data}
	err := d.run(s)
	for _, dict := range d.dicts {
		dict.Release()
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	s.end, s.ended = d.frames.pos, d.frames.ended
	return s, nil
}

// decoder goes through the messages of a stream.
type decoder struct {
	frames  frames
	root    *memory.Buffer
	columns []*column
	byID    map[int64]*dictionary
	dicts   map[*dictionary]*array.Data // in force, held
	batches int
}

func (d *decoder) run(s *Stream) error {
	m, err := d.frames.next()
	if err != nil {
		return err
	}
	if m == nil || m.kind != headerSchema {
		return &DamagedError{Offset: 0, Part: "stream", Detail: "it does not begin with a schema"}
	}
	m.header.f.part = "schema"
	r := &schemaReader{f: m.header.f, lim: d.frames.lim, dicts: map[int64]*dictionary{}}
	s.schema, d.columns = r.read(m.header)
	d.byID = r.dicts
	if r.f.err != nil {
		return r.f.err
	}
	for {
		if m, err = d.frames.next(); m == nil || err != nil {
			return err
		}
		if d.batches++; d.batches > d.frames.lim.Batches {
			return &UnsupportedError{Feature: "many batches", Detail: fmt.Sprintf("more than %d", d.frames.lim.Batches)}
		}
		switch m.kind {
		case headerSchema:
			err = &DamagedError{Offset: m.at, Part: "stream", Detail: "a second schema"}
		case headerDictionaryBatch:
			err = d.dictionary(m)
		default:
			err = d.record(s, m)
		}
		if err != nil {
			return err
		}
	}
}

// record reads a record batch and appends it to the stream.
func (d *decoder) record(s *Stream, m *message) error {
	m.header.f.part = "record batch"
	b, rows, err := newBatch(d.root, m, m.header, d.dicts)
	if err != nil {
		return err
	}
	defer b.release()
	if rows > d.frames.lim.Rows-s.rows {
		return &UnsupportedError{Feature: "many rows", Detail: fmt.Sprintf("%d in one batch after %d, at most %d are read", rows, s.rows, d.frames.lim.Rows)}
	}
	cols := make([]arrow.Array, 0, len(d.columns))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, c := range d.columns {
		b.part = fmt.Sprintf("column %d (%.40s)", i, c.name)
		data := b.array(c)
		if b.err == nil && int64(data.Len()) != rows {
			b.damaged("the column has %d rows, its batch %d", data.Len(), rows)
		}
		if b.err != nil {
			return b.err
		}
		col := array.MakeFromData(data)
		settle(col)
		cols = append(cols, col)
	}
	if err := b.finish(); err != nil {
		return err
	}
	s.records = append(s.records, array.NewRecord(s.schema, cols, rows))
	s.rows += rows
	return nil
}

// finish checks that the columns have used all nodes and buffers of the batch.
func (b *batch) finish() error {
	if b.node != b.nodes.n || b.buffer != b.buffers.n {
		b.part = "record batch"
		b.damaged("%d nodes and %d buffers, the columns need %d and %d", b.nodes.n, b.buffers.n, b.node, b.buffer)
	}
	return b.err
}

// dictionary reads a dictionary batch (Message.fbs, DictionaryBatch: 0 id, 1 data, 2 isDelta). It replaces the
// former dictionary of its id for the batches that follow.
func (d *decoder) dictionary(m *message) error {
	f := m.header.f
	f.part = "dictionary batch"
	dict, known := d.byID[m.header.int64(0)]
	if f.err == nil && !known {
		f.damaged(m.header.pos, "no field has dictionary %d", m.header.int64(0))
	}
	if m.header.bool(2) {
		f.unsupported("delta dictionary", "dictionary %d", m.header.int64(0))
	}
	data := m.header.table(1)
	if f.err != nil {
		return f.err
	}
	b, rows, err := newBatch(d.root, m, data, d.dicts)
	if err != nil {
		return err
	}
	defer b.release()
	b.part = fmt.Sprintf("dictionary %d", dict.id)
	values := b.array(dict.value)
	if b.err == nil && int64(values.Len()) != rows {
		b.damaged("the dictionary has %d values, its batch %d", values.Len(), rows)
	}
	if err := b.finish(); err != nil {
		return err
	}
	if former := d.dicts[dict]; former != nil {
		former.Release()
	}
	values.Retain()
	d.dicts[dict] = values
	return nil
}

// settle makes the arrays that arrow would make at their first use, so that later uses only read.
func settle(a arrow.Array) {
	switch a := a.(type) {
	case *array.Dictionary:
		settle(a.Dictionary())
	case *array.Struct:
		for i := range a.NumField() {
			settle(a.Field(i))
		}
	case array.ListLike:
		settle(a.ListValues())
	}
}
