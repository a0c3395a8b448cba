package arrowio

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Kinds of message header, as numbered by the Arrow format (Message.fbs).
const (
	headerSchema          = 1
	headerDictionaryBatch = 2
	headerRecordBatch     = 3
	headerTensor          = 4
	headerSparseTensor    = 5
)

// continuation starts each message of the framing since Arrow 0.15; before, a message began with its length.
const continuation = 0xFFFFFFFF

// message is one framed message of a stream: its header table and its body, both slices of the stream.
type message struct {
	at     int64 // position of the frame
	kind   uint8
	header table
	bodyAt int64
	body   int64 // length
}

// frames reads messages one after the other. Nothing is copied.
type frames struct {
	buf   []byte
	pos   int64
	lim   Bounds
	ended bool // the end marker has been read
}

func (r *frames) damaged(at int64, format string, args ...any) error {
	return &DamagedError{Offset: at, Part: "message frame", Detail: fmt.Sprintf(format, args...)}
}

// next returns the next message, or nil at the end of the stream.
func (r *frames) next() (*message, error) {
	at, size := r.pos, int64(len(r.buf))
	if at == size || r.ended {
		return nil, nil
	}
	if at == 0 && bytes.HasPrefix(r.buf, []byte("ARROW1")) {
		return nil, &UnsupportedError{Feature: "file format", Detail: "a stream is expected, not a file with a footer"}
	}
	prefix := int64(4)
	if size-at < prefix {
		return nil, r.damaged(at, "%d bytes are left, a length needs 4", size-at)
	}
	length := binary.LittleEndian.Uint32(r.buf[at:])
	if length == continuation {
		prefix = 8
		if size-at < prefix {
			return nil, r.damaged(at, "%d bytes are left, marker and length need 8", size-at)
		}
		length = binary.LittleEndian.Uint32(r.buf[at+4:])
	}
	r.pos = at + prefix
	if length == 0 {
		r.ended = true
		return nil, nil
	}
	left := size - r.pos
	if int32(length) < 0 || int64(length) > left {
		return nil, r.damaged(at, "metadata of %d bytes, %d bytes are left", int32(length), left)
	}
	if int64(length) > int64(r.lim.Metadata) {
		return nil, &UnsupportedError{Feature: "large metadata", Detail: fmt.Sprintf("%d bytes, at most %d are read", length, r.lim.Metadata)}
	}
	return r.read(at, int64(length))
}

// read reads the message whose metadata of the given length starts at r.pos.
func (r *frames) read(at, length int64) (*message, error) {
	f := newFlat(r.buf[r.pos:r.pos+length], r.pos, "message")
	root := f.root()
	version, kind := root.int16(0, 0), root.uint8(1)
	header, body := root.table(2), root.int64(3)
	if f.err != nil {
		return nil, f.err
	}
	if version != 3 && version != 4 { // V4 and V5
		return nil, &UnsupportedError{Feature: "metadata version", Detail: fmt.Sprintf("version number %d, only V4 (3) and V5 (4) are read", version)}
	}
	bodyAt := r.pos + length
	if left := int64(len(r.buf)) - bodyAt; body < 0 || body > left {
		return nil, r.damaged(at, "a body of %d bytes, %d bytes are left", body, left)
	}
	switch kind {
	case headerSchema, headerDictionaryBatch, headerRecordBatch:
	case headerTensor, headerSparseTensor:
		return nil, &UnsupportedError{Feature: "tensor", Detail: "a tensor message in a stream of record batches"}
	default:
		return nil, r.damaged(at, "header type %d is not known", kind)
	}
	if !header.present {
		return nil, r.damaged(at, "the message has no header")
	}
	r.pos = bodyAt + body
	return &message{at: at, kind: kind, header: header, bodyAt: bodyAt, body: body}, nil
}
