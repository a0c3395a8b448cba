package arrowio

import (
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// nextNode returns length and null count of the next array.
func (b *batch) nextNode() (length, nulls int64) {
	if b.node >= b.nodes.n {
		b.damaged("the batch has %d field nodes, its columns need more", b.nodes.n)
		return 0, 0
	}
	length, nulls = b.nodes.pair(b.node)
	b.node++
	if length < 0 || length > maxLength || nulls < 0 || nulls > length {
		b.damaged("a length of %d with %d nulls", length, nulls)
	}
	return length, nulls
}

// nextBuffer returns the next buffer as a slice of the stream. It must lie inside the body, on an 8-byte boundary
// of the stream unless it is empty, and must not make the buffers together longer than the body: then some
// overlap, and what they cost to check is no longer bounded by the stream's size.
func (b *batch) nextBuffer() *memory.Buffer {
	if b.err != nil {
		return nil
	}
	if b.buffer >= b.buffers.n {
		b.damaged("the batch has %d buffers, its columns need more", b.buffers.n)
		return nil
	}
	at, length := b.buffers.pair(b.buffer)
	b.buffer++
	if at < 0 || length < 0 || at > b.size || length > b.size-at {
		b.damaged("buffer %d is (%d, %d) in a body of %d bytes", b.buffer-1, at, length, b.size)
		return nil
	}
	b.where = b.at + at
	if length > 0 && (b.at+at)%8 != 0 {
		b.damaged("buffer %d begins at byte %d of the stream, off an 8-byte boundary", b.buffer-1, b.at+at)
		return nil
	}
	if b.left -= length; b.left < 0 {
		b.damaged("the buffers up to number %d are together longer than the body of %d bytes", b.buffer-1, b.size)
		return nil
	}
	s := memory.SliceBuffer(b.root, int(b.at+at), int(length))
	b.slices = append(b.slices, s)
	return s
}

// sized returns the next buffer, which must hold n values of a width in bytes.
func (b *batch) sized(n, width int64) *memory.Buffer {
	s := b.nextBuffer()
	if b.err == nil && width > 0 && int64(s.Len())/width < n {
		b.damaged("buffer %d has %d bytes for %d values of %d bytes", b.buffer-1, s.Len(), n, width)
	}
	return s
}

// offsets returns the next buffer, which must hold n+1 offsets, or may be empty when n is 0.
func (b *batch) offsets(n, width int64) *memory.Buffer {
	s := b.nextBuffer()
	if b.err == nil && (n > 0 || s.Len() > 0) && int64(s.Len())/width < n+1 {
		b.damaged("buffer %d has %d bytes for %d offsets of %d bytes", b.buffer-1, s.Len(), n+1, width)
	}
	return s
}

// validity returns the next bitmap, nil when nothing is null, and the null count, which must be that of the bitmap.
func (b *batch) validity(length, nulls int64) (*memory.Buffer, int64) {
	s := b.nextBuffer()
	if b.err != nil || s.Len() == 0 && nulls == 0 {
		return nil, 0
	}
	need := length/8 + min(length%8, 1)
	if int64(s.Len()) < need {
		b.damaged("buffer %d has %d bytes of validity for %d values, %d of them null", b.buffer-1, s.Len(), length, nulls)
		return nil, 0
	}
	if counted := length - countSet(s.Bytes()[:need], length); counted != nulls {
		b.damaged("%d nulls are counted, the bitmap has %d", nulls, counted)
		return nil, 0
	}
	if nulls == 0 {
		return nil, 0
	}
	return s, nulls
}

// countSet returns how many of the first n bits are set; bitmap has just the bytes they need.
func countSet(bitmap []byte, n int64) int64 {
	count := int64(0)
	whole := bitmap[:n/8]
	for len(whole) >= 8 {
		count += int64(bits.OnesCount64(*(*uint64)(unsafe.Pointer(&whole[0]))))
		whole = whole[8:]
	}
	for _, x := range whole {
		count += int64(bits.OnesCount8(x))
	}
	if n%8 != 0 {
		count += int64(bits.OnesCount8(bitmap[n/8] & (1<<(n%8) - 1)))
	}
	return count
}

// integers views bytes as integers of their own width; a rest that fills no integer is left out.
func integers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](b []byte) []T {
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
