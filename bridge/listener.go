package bridge

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Host names what two processes must share so that an abstract unix socket of one reaches the other: the kernel's boot and the
// network namespace.
func Host() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("bridge: host identity: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return "", fmt.Errorf("bridge: host identity: %w", err)
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace, nil
}

// Listener accepts connections of other sidecars of the same user on this host. Its socket is abstract: it has no file, so nothing
// is left to sweep however the process ends.
type Listener struct {
	inner *net.UnixListener
	name  string
}

// SocketPrefix begins the name of every socket that a sidecar listens on.
const SocketPrefix = "outrider/"

// Listen opens an endpoint whose name nobody can guess or take beforehand.
func Listen() (*Listener, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	return ListenAs(SocketPrefix + hex.EncodeToString(random[:]))
}

// ListenAs opens an endpoint with a name that both sides know. Error: EADDRINUSE when a process of this host has it.
func ListenAs(name string) (*Listener, error) {
	inner, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: "@" + name, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("bridge: listen: %w", err)
	}
	return &Listener{inner: inner, name: name}, nil
}

// Name is what Dial takes; it travels in wire.Endpoint.
func (l *Listener) Name() string { return l.name }

// acceptAgain is how long a process without free descriptors waits before it looks for one again; net/http begins at 5 ms and ends at 1 s.
const acceptAgain = 100 * time.Millisecond

// Accept waits for a peer of the same user; others are turned away without an answer, and wait while this process is out of descriptors.
func (l *Listener) Accept() (*Conn, error) {
	for {
		socket, err := l.inner.AcceptUnix()
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			time.Sleep(acceptAgain)
			continue
		}
		if err != nil {
			return nil, err
		}
		if sameUser(socket) != nil {
			socket.Close()
			continue
		}
		conn, err := connOf(socket)
		if err != nil {
			continue
		}
		return conn, nil
	}
}

// Close stops Accept.
func (l *Listener) Close() error { return l.inner.Close() }

// Dial connects to a Listener of the same user on this host.
func Dial(name string) (*Conn, error) {
	socket, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: "@" + name, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("bridge: dial: %w", err)
	}
	if err := sameUser(socket); err != nil {
		socket.Close()
		return nil, err
	}
	return connOf(socket)
}

func sameUser(socket *net.UnixConn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failure error
	if err := raw.Control(func(fd uintptr) {
		peer, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	if own := os.Geteuid(); int(peer.Uid) != own {
		return fmt.Errorf("bridge: peer is user %d, this is user %d", peer.Uid, own)
	}
	return nil
}
