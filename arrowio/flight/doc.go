// Package flight carries segments between hosts by Arrow Flight: DoGet of a ticket, over gRPC.
//
//	Segment ── Lend ──▶ codec ── mapping, uncopied ──▶ gRPC ── buffers ──▶ landing ── pwritev ──▶ memfd ── Seal ──▶ Segment
//	                                                                     (bounded, checksum)          (validated)
//
// # Two ways on one method
//
// A stock Flight client gets the rows of its ticket as Flight has it, one FlightData a message of the Arrow stream. A Client of
// this package asks, in a request header, for the segment's own bytes in pieces of 1 MiB: the copy is byte-equal whatever
// wrote the segment, and no end ever holds more than a few pieces. It reads stock servers, too.
//
// # Trust
//
// The server answers nobody who does not bring the token of a run. The client believes nothing: it takes no byte above its
// limit, in pieces gRPC has bounded; it compares length, CRC-32C, rows and schema fingerprint with what the server said; then
// the memory is sealed and decoded as any peer's. Whatever fails leaves nothing behind, so the segment is fetched again or the
// work is replayed.
//
// # Memory that is lent
//
// gRPC never frees what was queued for a peer that died. So what is lent to it is held by a lease which gRPC's buffers point
// to: the last buffer's return ends it, and if one never comes back, the garbage collector does.
package flight
