package sidecar

import (
	"context"
	"sync"
	"time"
)

// loop runs tasks one after the other in one goroutine, which therefore owns whatever the tasks touch. The queue has no bound:
// what may be asked for is bounded where it is admitted (slots, limits), and a bound here could make two loops wait for each other.
type loop struct {
	mu      sync.Mutex // guards tasks and closed
	tasks   []func()
	closed  bool
	pending chan struct{} // has an element while tasks may be waiting
}

func newLoop() *loop { return &loop{pending: make(chan struct{}, 1)} }

// post queues a task; after the loop has ended it is dropped and false returned.
func (l *loop) post(task func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.tasks = append(l.tasks, task)
	l.mu.Unlock()
	select {
	case l.pending <- struct{}{}:
	default:
	}
	return true
}

// run executes tasks in batches until ctx ends. after follows each batch and says when it wants to be called though nothing was
// posted; zero: not at all.
func (l *loop) run(ctx context.Context, after func() time.Duration) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer func() {
		l.mu.Lock()
		l.closed = true
		l.tasks = nil
		l.mu.Unlock()
	}()
	for {
		if wait := after(); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.pending:
		}
		l.mu.Lock()
		batch := l.tasks
		l.tasks = nil
		l.mu.Unlock()
		for _, task := range batch {
			task()
		}
	}
}
