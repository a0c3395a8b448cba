package arrowio

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/endian"
	flatbuffers "github.com/google/flatbuffers/go"
)

// alignment is the boundary in bytes on which every message and every buffer begins: enough for any vector
// instruction, and JAX copies what is aligned to less.
const alignment = 64

// padding is written up to the next boundary.
var padding [alignment]byte

// Encoding is an encoded stream of known size whose pieces alias the memory of the records. It holds the records
// until Release; their bytes must not change before.
type Encoding struct {
	pieces  [][]byte
	size    int64
	records []arrow.Record
}

// Encode lays out records as an Arrow IPC stream (metadata V5, little-endian, uncompressed, with an end marker), each
// buffer on a 64-byte boundary, without copying the columns: what is made anew is metadata, offsets that do not begin
// at 0, and bitmaps that do not begin at a byte. A dictionary is sent before its first use and again whenever a
// record has another. Extension types are sent as storage with their name in the metadata.
// Errors: *UnsupportedError (unions, views, run-end encoding), *DataError (a record that is not of the schema).
//
// The format is that of the Arrow columnar specification, section "Serialization and Interprocess Communication".
func Encode(schema *arrow.Schema, recs []arrow.Record) (*Encoding, error) {
	if endian.IsBigEndian {
		return nil, &UnsupportedError{Feature: "big endian", Detail: "this host"}
	}
	e := &Encoding{}
	w := &encoder{out: e, sent: map[int64]arrow.ArrayData{}}
	defer w.release()
	plans, err := w.plans(schema.Fields())
	if err != nil {
		return nil, err
	}
	w.message(headerSchema, func(b *flatbuffers.Builder) flatbuffers.UOffsetT { return encodeSchema(b, schema, plans) }, nil)
	for i, r := range recs {
		if err := w.record(schema, plans, r, i); err != nil {
			return nil, err
		}
	}
	end := make([]byte, 8)
	binary.LittleEndian.PutUint32(end, continuation)
	e.add(end)
	for _, r := range recs {
		r.Retain()
	}
	e.records = append([]arrow.Record(nil), recs...)
	return e, nil
}

// Size returns the exact size of the stream in bytes.
func (e *Encoding) Size() int64 { return e.size }

// Release lets go of the records. Idempotent; not safe beside other calls.
func (e *Encoding) Release() {
	for _, r := range e.records {
		r.Release()
	}
	e.records, e.pieces = nil, nil
}

func (e *Encoding) add(b []byte) {
	if len(b) > 0 {
		e.pieces = append(e.pieces, b)
		e.size += int64(len(b))
	}
}

// encoder writes the messages of one stream.
type encoder struct {
	out  *Encoding
	next int64                     // id of the next dictionary
	sent map[int64]arrow.ArrayData // dictionary of each id that the reader has, held by its record or by held
	held []arrow.ArrayData         // dictionaries that the encoder made
}

func (w *encoder) release() {
	for _, d := range w.held {
		d.Release()
	}
}

// message appends a framed message whose frame, metadata and body each end on a boundary.
func (w *encoder) message(kind uint8, header func(*flatbuffers.Builder) flatbuffers.UOffsetT, b *body) {
	fb := flatbuffers.NewBuilder(1024)
	at := header(fb)
	fb.StartObject(5)
	fb.PrependInt16Slot(0, 4, 0) // V5
	fb.PrependByteSlot(1, kind, 0)
	fb.PrependUOffsetTSlot(2, at, 0)
	if b != nil {
		fb.PrependInt64Slot(3, b.size, 0)
	}
	fb.Finish(fb.EndObject())
	meta := fb.FinishedBytes()
	pad := padTo(int64(len(meta)) + 8)
	frame := make([]byte, 8)
	binary.LittleEndian.PutUint32(frame, continuation)
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(meta)+pad))
	w.out.add(frame)
	w.out.add(meta)
	w.out.add(padding[:pad])
	if b != nil {
		for _, p := range b.pieces {
			w.out.add(p)
		}
	}
}

// padTo returns the bytes missing from size to the next boundary.
func padTo(size int64) int { return int(-size & (alignment - 1)) }

// record appends a record batch, after the dictionaries that it needs.
func (w *encoder) record(schema *arrow.Schema, plans []*plan, r arrow.Record, number int) error {
	if int(r.NumCols()) != len(plans) {
		return &DataError{Row: -1, Column: fmt.Sprintf("record %d", number), Expected: fmt.Sprintf("%d columns", len(plans)), Found: fmt.Sprintf("%d", r.NumCols())}
	}
	b := &body{}
	for i, p := range plans {
		c := r.Column(i)
		if want := schema.Field(i).Type; !arrow.TypeEqual(want, c.DataType()) {
			return &DataError{Row: -1, Column: schema.Field(i).Name, Expected: want.String(), Found: c.DataType().String()}
		}
		err := sliced(c.Data(), 0, r.NumRows(), func(d arrow.ArrayData) error {
			if err := w.dictionaries(p, d); err != nil {
				return err
			}
			return b.array(p, d)
		})
		if err != nil {
			return fmt.Errorf("outrider: encode column %d (%s) of record %d: %w", i, schema.Field(i).Name, number, err)
		}
	}
	w.message(headerRecordBatch, func(fb *flatbuffers.Builder) flatbuffers.UOffsetT { return b.encode(fb, r.NumRows()) }, b)
	return nil
}
