package sidecar

import (
	"sync"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// outbox sends frames in order from a goroutine of its own, so that a peer that does not read (a Python process that holds the GIL,
// a slow network) never holds up a loop.
type outbox struct {
	send func(frame *wire.Frame, fds []int) error

	mu     sync.Mutex // guards queue and closed
	ready  *sync.Cond
	queue  []outgoing
	closed bool
	done   chan struct{}
}

type outgoing struct {
	frame *wire.Frame
	fds   []int // closed after the send
}

// newOutbox starts sending; failed is called once when a send fails, from the sending goroutine.
func newOutbox(send func(frame *wire.Frame, fds []int) error, failed func(error)) *outbox {
	o := &outbox{send: send, done: make(chan struct{})}
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

func (o *outbox) drain() error {
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.ready.Wait()
		}
		batch := o.queue
		o.queue = nil
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

// put queues a frame and takes over its descriptors.
func (o *outbox) put(frame *wire.Frame, fds ...int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
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
