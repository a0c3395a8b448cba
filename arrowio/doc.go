// Package arrowio is the data plane: columns of rollouts and prompts as Arrow, written once into sealed memory and read in
// place. It is the only package that imports Arrow.
//
//	columns ── Encode ──▶ Encoding ── WriteTo ──▶ memfd ── Seal ──▶ Segment ── Records ──▶ arrow.Record
//	            (alias)             (one pwritev)         (check)     │                     (slices of the mapping)
//	                                                                  ├── Summarize ──▶ GroupSummary (no tokens)
//	                                              fd of a peer ── Open┘
//
// # Trust
//
// A segment comes from another process, so nothing in it is believed. Sealing comes first: once the four seals are set,
// no process can change the bytes or the size, so what is checked once holds for as long as the memory lives. Memory that
// somebody still has mapped writable, or that has holes, is refused. Then Decode walks the stream with every length held
// against the bytes that are there before anything is allocated, looped over or multiplied by it. What it hands out is
// safe to use with arrow's own accessors, which check little: offsets rise and end inside their values, indices lie
// inside their dictionary, bitmaps and values are as long as their rows, lengths of parents and children agree.
//
// A stream is refused in one of two ways. A *DamagedError names the byte position of what is broken; an
// *UnsupportedError names what is left out (compression, big-endian data, unions, views, run-end encoding, delta
// dictionaries, tensors, the file format) or too much (Bounds). Where the format leaves a choice, the strict one is taken:
// null counts are those of the bitmaps, no buffer overlaps another, none is left over, all begin on 8 bytes.
//
// # Cost
//
// Decoding is O(metadata + rows) in time and O(metadata) in memory; the values themselves are not looked at. Encoding
// copies no column: the pieces of an Encoding alias the columns, and the kernel's copy into the memfd is the only one.
//
// # Who owns what
//
// Arrow counts references by hand. A Segment, Stream or Encoding holds what it needs until Close or Release. Records are
// borrowed from their owner: valid until it lets go, and for longer only if retained. The mapping is unmapped by whoever
// releases last, so a retained record outlives its segment. A file descriptor given to Seal or Open belongs to this
// package from then on, also when it is refused.
package arrowio
