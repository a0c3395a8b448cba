package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/sidecar/node"
)

// Config is what the command line says.
type Config struct {
	Socket   int    // inherited descriptor of the socket pair
	Parent   int    // pid of the process that started this one
	Log      string // path of the log file
	LogLevel string
	Version  string
}

// Process is one sidecar. All fields below loop belong to the loop's goroutine.
type Process struct {
	config   Config
	log      hclog.Logger
	conn     *bridge.Conn
	shim     *outbox
	listener *bridge.Listener
	host     string
	segments *segments
	peers    peers
	flights  *flights
	shares   shares
	end      context.CancelCauseFunc

	loop      *loop
	members   map[uint32]*member
	lastMid   uint32
	owner     *owner
	asked     uint64
	questions map[uint64]func(*wire.Frame) // asked of the shim, not answered
	parted    bool                         // the shim has said that it leaves
	mappings  *mappings                    // nil until a rank has joined
}

// Run is the life of a sidecar; it returns the exit code.
func Run(config Config) int {
	err := run(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return exitCode(err)
}

func run(config Config) error {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT)
	// A heap of a few MB would be collected hundreds of times a second; segments are not in it.
	debug.SetGCPercent(400)
	useOneProcessor()
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	if err := watchParent(ctx, config.Parent, func() { end(errParentLost) }); err != nil {
		return err
	}
	conn, err := bridge.NewConn(config.Socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	host, err := bridge.Host()
	if err != nil {
		return err
	}
	listener, err := bridge.Listen()
	if err != nil {
		return err
	}
	defer listener.Close()

	p := &Process{
		config: config, conn: conn, listener: listener, host: host, end: end, loop: newLoop(),
		members: map[uint32]*member{}, questions: map[uint64]func(*wire.Frame){},
	}
	p.shim = newOutbox(
		func(frame *wire.Frame, fds []int) bool { return conn.TrySend(frame, fds...) },
		func(frame *wire.Frame, fds []int) error { return conn.Send(frame, fds...) }, func(error) { end(errParentLost) })
	// The first frame: before what the log may have to say.
	p.shim.put(&wire.Frame{Body: &wire.Frame_Ready{Ready: &wire.Ready{
		ProtocolMin: bridge.ProtocolMin, ProtocolMax: bridge.ProtocolMax, Version: config.Version, Pid: int64(os.Getpid()),
	}}})
	log, closeLog := newLogger(config.Log, hclog.LevelFromString(config.LogLevel), func(frame *wire.Frame) { p.shim.put(frame) })
	defer closeLog()
	p.log = log
	p.segments = newSegments(log)
	p.flights = newFlights(log, p.segments)
	defer p.flights.stop()
	defer p.shares.stop()
	resetPriority(log)

	go p.serveNeighbours()
	go p.receive()
	go p.drainOnTerm(ctx)
	if pages := node.HugePages(); !pages.Good {
		log.Info("shared memory has no huge pages of its own accord", "setting", pages.Value, "costs", pages.Costs, "mend", pages.Mend)
	}
	log.Info("sidecar started", "pid", os.Getpid(), "parent", config.Parent, "version", config.Version)
	p.loop.run(ctx, func() time.Duration { return 0 })

	if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
		err = nil // end(nil): left in order
	}
	for _, m := range p.members {
		m.stop()
	}
	if p.owner != nil {
		p.owner.stop()
	}
	log.Info("sidecar ends", "exit", exitCode(err), "cause", fmt.Sprint(err))
	return err
}

// receive moves the shim's frames into the loop until the socket closes. Work that needs no state (sealing and checking a segment)
// is done here, before the loop sees the frame.
func (p *Process) receive() {
	if err := p.hello(); err != nil {
		p.end(err)
		return
	}
	for {
		frame, fds, err := p.conn.Receive()
		if err != nil {
			p.loop.post(func() { p.end(p.parting(err)) })
			return
		}
		p.prepare(frame, fds)
	}
}

// parting tells an orderly end from a lost parent.
func (p *Process) parting(err error) error {
	over := p.owner == nil || p.owner.over.Load()
	for _, m := range p.members {
		over = over && m.ended != nil
	}
	if p.parted || over {
		return nil
	}
	return fmt.Errorf("%w: %w", errParentLost, err)
}

func (p *Process) hello() error {
	frame, fds, err := p.conn.Receive()
	bridge.CloseDescriptors(fds)
	if err != nil {
		return errParentLost
	}
	hello := frame.GetHello()
	if hello == nil || hello.GetProtocolMin() > bridge.ProtocolMax || hello.GetProtocolMax() < bridge.ProtocolMin {
		return fmt.Errorf("%w: shim %s speaks %d to %d, sidecar %s speaks %d to %d; install the same version of outrider everywhere",
			errIncompatible, hello.GetVersion(), hello.GetProtocolMin(), hello.GetProtocolMax(), p.config.Version, bridge.ProtocolMin, bridge.ProtocolMax)
	}
	return nil
}

// drainOnTerm leaves workers in order at the first SIGTERM and at once at the second.
func (p *Process) drainOnTerm(ctx context.Context) {
	term := make(chan os.Signal, 2)
	signal.Notify(term, syscall.SIGTERM)
	defer signal.Stop(term)
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-term:
		}
		if !first {
			p.end(nil)
			return
		}
		p.log.Info("SIGTERM: draining")
		p.loop.post(p.drain)
	}
}

// drain asks for no further work; the process ends when the last member has none left.
func (p *Process) drain() {
	p.parted = true
	for _, m := range p.members {
		if m.work != nil {
			m.drain(nil)
		}
	}
	p.endIfIdle()
}

func (p *Process) endIfIdle() {
	if !p.parted {
		return
	}
	for _, m := range p.members {
		if !m.idle() {
			return
		}
	}
	p.end(nil)
}

// ask puts a question to the shim.
func (p *Process) ask(frame *wire.Frame, answer func(*wire.Frame)) {
	p.asked++
	frame.Id = p.asked
	p.questions[frame.GetId()] = answer
	p.shim.put(frame)
}

// answer answers a frame of the shim.
func (p *Process) answer(question *wire.Frame, body *wire.Frame, err error, fds ...int) {
	if question.GetId() == 0 {
		bridge.CloseDescriptors(fds)
		if err != nil {
			p.log.Warn("push refused", "error", err)
		}
		return
	}
	if body == nil {
		body = &wire.Frame{Body: &wire.Frame_Done{Done: &wire.Done{}}}
	}
	if err != nil {
		body = &wire.Frame{Error: bridge.ToWire(err)}
	}
	body.Id, body.Answer, body.Member = question.GetId(), true, question.GetMember()
	p.shim.put(body, fds...)
}
