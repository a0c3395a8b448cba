package bridge

import (
	"context"
	"crypto/subtle"
	"strings"
	"sync"

	"outrider/bridge/wire"
)

// Members on the owner's own host speak to it over a socket like the one to the shim instead of gRPC: the same frames, and a round trip
// costs a third. An owner's address names both ways, "host:port@socket"; who cannot reach the socket takes the port.

// localSession is a connection as a Session; first is a frame that was read ahead.
type localSession struct {
	conn  *Conn
	first *wire.Frame
}

func (l *localSession) Send(frame *wire.Frame) error { return l.conn.Send(frame) }

func (l *localSession) Recv() (*wire.Frame, error) {
	if frame := l.first; frame != nil {
		l.first = nil
		return frame, nil
	}
	frame, fds, err := l.conn.Receive()
	CloseDescriptors(fds) // no frame of a session speaks of any
	return frame, err
}

// locals are the sessions of members on the owner's host.
type locals struct {
	mu       sync.Mutex // guards below
	listener *Listener
	conns    map[*Conn]bool
	stopped  bool
}

// ServeLocal accepts members of this host too, until Stop, and returns at once with the address that offers both ways.
func (o *OwnerServer) ServeLocal(address string) (string, error) {
	listener, err := Listen()
	if err != nil {
		return "", err
	}
	l := &o.local
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener, l.conns = listener, map[*Conn]bool{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if !l.begin(conn) {
				conn.Close()
				return
			}
			go o.serveLocal(conn)
		}
	}()
	return address + "@" + listener.Name(), nil
}

func (l *locals) begin(conn *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *locals) end(conn *Conn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// stop closes; it does not wait, for an owner calls it from its loop, which sessions wait for.
func (l *locals) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.listener != nil {
		l.listener.Close()
	}
	for conn := range l.conns {
		conn.Close()
	}
}

// serveLocal is Session for one connection. Its first frame is a Join, which carries the run's token.
func (o *OwnerServer) serveLocal(conn *Conn) {
	defer o.local.end(conn)
	session := &localSession{conn: conn}
	first, err := session.Recv()
	if err != nil {
		return
	}
	if subtle.ConstantTimeCompare([]byte(first.GetJoin().GetRun().GetToken()), []byte(o.token)) != 1 {
		err = NewError(Refused, wrongToken)
	} else {
		session.first = first
		err = o.accept(context.Background(), session)
	}
	if err != nil {
		// The member may be gone already.
		_ = conn.Send(&wire.Frame{Id: first.GetId(), Answer: true, Error: ToWire(err)})
	}
}

// dialLocal opens a session over the socket that an address names; nil when it names none or nobody can be reached there.
func dialLocal(ctx context.Context, address string) *Owner {
	_, name, offered := strings.Cut(address, "@")
	if !offered {
		return nil
	}
	conn, err := Dial(name)
	if err != nil {
		return nil
	}
	unwatch := context.AfterFunc(ctx, func() { conn.Close() })
	return &Owner{Session: &localSession{conn: conn}, close: func() error {
		unwatch()
		return conn.Close()
	}}
}
