package arrowio

// Bounds limits what Decode bears of a stream. Each zero field takes its default. What exceeds a bound is
// answered with an *UnsupportedError, before anything of that size is allocated or walked.
type Bounds struct {
	Depth    int   // levels of nested types, default 32
	Fields   int   // fields of all levels together, default 8,192
	Rows     int64 // rows of all record batches together, default 2^31 - 1
	Batches  int   // record batches and dictionary batches together, default 65,536
	Metadata int   // bytes of one message's metadata, default 64 MiB
}

// maxLength bounds every length that is multiplied or added to: with it, no sum or product of a length
// and a width of at most 32 bytes leaves an int64.
const maxLength = int64(1) << 48

func (b Bounds) orDefaults() Bounds {
	if b.Depth <= 0 {
		b.Depth = 32
	}
	if b.Fields <= 0 {
		b.Fields = 8192
	}
	if b.Rows <= 0 {
		b.Rows = 1<<31 - 1
	}
	if b.Batches <= 0 {
		b.Batches = 1 << 16
	}
	if b.Metadata <= 0 {
		b.Metadata = 64 << 20
	}
	return b
}
