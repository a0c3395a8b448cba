package flight

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"google.golang.org/grpc/mem"
)

// lease keeps a mapping while gRPC has buffers of it. It is the pool that the buffers go back to.
type lease struct {
	lent *lent
	left atomic.Int64 // buffers out, plus one until done
}

type lent struct {
	once sync.Once
	root *memory.Buffer
}

func (l *lent) release() { l.once.Do(l.root.Release) }

// newLease takes over the caller's hold on root.
func newLease(root *memory.Buffer) *lease {
	l := &lease{lent: &lent{root: root}}
	l.left.Store(1)
	runtime.AddCleanup(l, func(lent *lent) { lent.release() }, l.lent)
	return l
}

// buffer lends a part of the mapping.
func (l *lease) buffer(part []byte) mem.Buffer {
	if mem.IsBelowBufferPoolingThreshold(cap(part)) { // gRPC would not say when it is done
		return mem.SliceBuffer(append([]byte(nil), part...))
	}
	l.left.Add(1)
	return mem.NewBuffer(&part, l)
}

// done says that nothing more will be lent.
func (l *lease) done() { l.Put(nil) }

// Put implements mem.BufferPool: a buffer has come back.
func (l *lease) Put(*[]byte) {
	if l.left.Add(-1) == 0 {
		l.lent.release()
	}
}

// Get implements mem.BufferPool; nothing is ever got from a lease.
func (l *lease) Get(n int) *[]byte {
	b := make([]byte, n)
	return &b
}
