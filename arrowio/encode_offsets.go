package arrowio

import "unsafe"

// rebased returns the n+1 offsets from index off on, beginning at 0, and the range of values that they span. They are
// in place when the first is 0 already. Width is that of an offset in bytes, 4 or 8.
func rebased(b []byte, off, n int64, width int) (offsets []byte, from, to int64, err error) {
	if n == 0 {
		return padding[:width], 0, 0, nil
	}
	p, err := part(b, off*int64(width), (n+1)*int64(width))
	if err != nil {
		return nil, 0, 0, err
	}
	if width == 4 {
		return rebase(p, integers[int32](p))
	}
	return rebase(p, integers[int64](p))
}

func rebase[T int32 | int64](p []byte, o []T) ([]byte, int64, int64, error) {
	first, last := o[0], o[len(o)-1]
	if first < 0 || last < first {
		return nil, 0, 0, errShort
	}
	if first == 0 {
		return p, 0, int64(last), nil
	}
	moved := make([]T, len(o))
	for i, x := range o {
		moved[i] = x - first
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&moved[0])), len(p)), int64(first), int64(last), nil
}
