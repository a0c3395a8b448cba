package sidecar

import (
	"sync"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// outbox sends frames in order and never holds up a loop: at once where the peer has room, so that peers hear in the order in which a
// loop spoke to them, and else (a Python process that holds the GIL, a slow network) from a goroutine of its own.
type outbox struct {
	try  func(frame *wire.Frame, fds []int) bool // false: it would have to wait
	send func(frame *wire.Frame, fds []int) error

	mu      sync.Mutex // guards below
	ready   *sync.Cond
	queue   []outgoing
	sending bool // the goroutine is: what comes now comes after that
	closed  bool
	done    chan struct{}
}

type outgoing struct {
	frame *wire.Frame
	fds   []int // closed after the send
}

// newOutbox starts sending; failed is called once when a send fails, from the sending goroutine.
func newOutbox(try func(frame *wire.Frame, fds []int) bool, send func(frame *wire.Frame, fds []int) error, failed func(error)) *outbox {
	o := &outbox{try: try, send: send, done: make(chan struct{})}
	o.ready = sync.NewCond(&o.mu)
	go func() {
		defer close(o.done)
		if err := o.drain(); err != nil {
			o.close()
			failed(err)
		}
	}()
	return o
}

// sessionOutbox is the outbox of one end of a session.
func sessionOutbox(session bridge.Session, failed func(error)) *outbox {
	return newOutbox(
		func(frame *wire.Frame, _ []int) bool { return bridge.TrySend(session, frame) },
		func(frame *wire.Frame, _ []int) error { return session.Send(frame) }, failed)
}

func (o *outbox) drain() error {
	for {
		o.mu.Lock()
		o.sending = false
		for len(o.queue) == 0 && !o.closed {
			o.ready.Wait()
		}
		batch := o.queue
		o.queue, o.sending = nil, true
		o.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		for i, out := range batch {
			err := o.send(out.frame, out.fds)
			bridge.CloseDescriptors(out.fds)
			if err != nil {
				for _, rest := range batch[i+1:] {
					bridge.CloseDescriptors(rest.fds)
				}
				return err
			}
		}
	}
}

// put sends or queues a frame and takes over its descriptors.
func (o *outbox) put(frame *wire.Frame, fds ...int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		bridge.CloseDescriptors(fds)
		return
	}
	if len(o.queue) == 0 && !o.sending && o.try(frame, fds) {
		bridge.CloseDescriptors(fds)
		return
	}
	o.queue = append(o.queue, outgoing{frame, fds})
	o.ready.Signal()
}

// close stops the outbox after what is queued was sent. Idempotent.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.ready.Signal()
}

// flushed waits until nothing is left to send after close.
func (o *outbox) flushed() { <-o.done }
