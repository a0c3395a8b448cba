// Package bridge is the wire: how a frame and its file descriptors cross a local socket, how frames cross hosts over gRPC, and
// which name an error has on the way. It holds no policy and knows no state of a run.
//
//	shim  ◀── Conn (inherited SOCK_SEQPACKET, fds) ──▶ sidecar ◀── Session (socket or gRPC stream) ──▶ owner's sidecar
//	                                                     ▲
//	                                                     └── Conn (abstract unix socket, fds) ──▶ another sidecar of the host
//
// Every hop carries wire.Frame. docs/protocol.md is the same on one page for someone who writes another shim.
package bridge

// ProtocolMin and ProtocolMax are the versions of the wire that this build speaks, both included.
const (
	ProtocolMin uint32 = 2
	ProtocolMax uint32 = 2
)
