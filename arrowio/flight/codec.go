package flight

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of Flight.proto: Ticket.ticket, FlightData.data_header, .app_metadata and .data_body.
const (
	fieldTicket = 1
	fieldHeader = 2
	fieldApp    = 3
	fieldBody   = 1000
)

// maxTicket bounds a ticket and what goes before a body of this package's own pieces, in bytes.
const maxTicket = 64 << 10

var errWire = errors.New("flight: not a message of the Flight protocol")

// ticket is a Flight Ticket.
type ticket struct{ bytes []byte }

// flightData is a FlightData. Sent: body is memory of lease. Received: pieces are slices of buffers, which free lets go.
type flightData struct {
	header, app []byte
	body        []byte
	lease       *lease

	pieces  [][]byte
	size    int64 // of pieces
	buffers mem.BufferSlice
}

func (d *flightData) free() {
	d.buffers.Free()
	d.buffers, d.pieces = nil, nil
}

// codec lays out and reads the two messages without copying a body.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *ticket:
		b := protowire.AppendTag(nil, fieldTicket, protowire.BytesType)
		return mem.BufferSlice{mem.SliceBuffer(protowire.AppendBytes(b, m.bytes))}, nil
	case *flightData:
		var b []byte
		if len(m.header) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, fieldHeader, protowire.BytesType), m.header)
		}
		if len(m.app) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, fieldApp, protowire.BytesType), m.app)
		}
		if m.lease == nil {
			return mem.BufferSlice{mem.SliceBuffer(b)}, nil
		}
		b = protowire.AppendVarint(protowire.AppendTag(b, fieldBody, protowire.BytesType), uint64(len(m.body)))
		return mem.BufferSlice{mem.SliceBuffer(b), m.lease.buffer(m.body)}, nil
	}
	return nil, fmt.Errorf("flight: a message of type %T", v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	c := &cursor{}
	for _, b := range data {
		if b.Len() > 0 {
			c.parts = append(c.parts, b.ReadOnlyData())
			c.left += int64(b.Len())
		}
	}
	switch m := v.(type) {
	case *ticket:
		return c.fields(func(number protowire.Number, pieces [][]byte, _ int64) {
			if number == fieldTicket {
				m.bytes = join(pieces)
			}
		})
	case *flightData:
		*m = flightData{}
		err := c.fields(func(number protowire.Number, pieces [][]byte, size int64) {
			switch number {
			case fieldHeader:
				m.header = join(pieces)
			case fieldApp:
				m.app = join(pieces)
			case fieldBody:
				m.pieces, m.size = pieces, size
			}
		})
		if err == nil && m.size > 0 {
			data.Ref()
			m.buffers = data
		}
		return err
	}
	return fmt.Errorf("flight: a message of type %T", v)
}

// cursor walks over a message that came in parts.
type cursor struct {
	parts [][]byte // none empty
	left  int64
}

// fields calls each with every length-delimited field, as slices of the parts; other fields are passed over.
func (c *cursor) fields(each func(number protowire.Number, pieces [][]byte, size int64)) error {
	for c.left > 0 {
		tag, err := c.varint()
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		skip := uint64(0)
		switch kind {
		case protowire.VarintType:
			_, err = c.varint()
		case protowire.Fixed32Type:
			skip = 4
		case protowire.Fixed64Type:
			skip = 8
		case protowire.BytesType:
			if skip, err = c.varint(); err == nil && skip > uint64(c.left) {
				err = fmt.Errorf("%w: field %d of %d bytes, %d are left", errWire, number, skip, c.left)
			}
		default:
			err = fmt.Errorf("%w: field %d of kind %d", errWire, number, kind)
		}
		if err != nil || number < 1 {
			return errors.Join(errWire, err)
		}
		pieces, err := c.take(skip)
		if err != nil {
			return err
		}
		if kind == protowire.BytesType {
			each(number, pieces, int64(skip))
		}
	}
	return nil
}

func (c *cursor) varint() (uint64, error) {
	var x uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if c.left == 0 {
			return 0, fmt.Errorf("%w: it ends within a number", errWire)
		}
		b := c.parts[0][0]
		c.advance(1)
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%w: a number of more than 10 bytes", errWire)
}

func (c *cursor) take(n uint64) ([][]byte, error) {
	if n > uint64(c.left) {
		return nil, fmt.Errorf("%w: %d bytes are missing", errWire, n-uint64(c.left))
	}
	var pieces [][]byte
	for n > 0 {
		part := c.parts[0][:min(n, uint64(len(c.parts[0])))]
		pieces = append(pieces, part)
		c.advance(len(part))
		n -= uint64(len(part))
	}
	return pieces, nil
}

// advance passes over bytes of the first part.
func (c *cursor) advance(n int) {
	c.left -= int64(n)
	if c.parts[0] = c.parts[0][n:]; len(c.parts[0]) == 0 {
		c.parts = c.parts[1:]
	}
}

func join(pieces [][]byte) []byte {
	var all []byte
	for _, p := range pieces {
		all = append(all, p...)
	}
	return all
}
