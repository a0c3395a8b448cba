package sidecar

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// The test binary is its own sidecar: children are real processes with a real inherited socket, and with -race when the tests have it.
const sidecarEnv = "OUTRIDER_TEST_SIDECAR"

func TestMain(m *testing.M) {
	if socket := os.Getenv(sidecarEnv); socket != "" {
		fd, _ := strconv.Atoi(socket)
		parent, _ := strconv.Atoi(os.Getenv("OUTRIDER_TEST_PARENT"))
		os.Exit(Run(Config{Socket: fd, Parent: parent, Log: os.Getenv("OUTRIDER_TEST_LOG"), LogLevel: "debug", Version: "test"}))
	}
	os.Exit(m.Run())
}

// shim is what Python is to a sidecar.
type shim struct {
	t    *testing.T
	cmd  *exec.Cmd
	conn *bridge.Conn
	exit chan int

	mu      sync.Mutex // guards the rest
	changed *sync.Cond
	asked   uint64
	answers map[uint64]*wire.Frame
	fds     map[uint64][]int
	pushes  []*wire.Frame
	address string // what Locate is answered with
	eof     bool
}

func startShim(t *testing.T) *shim { return startShimApart(t, 0) }

// startShimApart starts the sidecar in new namespaces of the kinds given.
func startShimApart(t *testing.T, namespaces uintptr) *shim {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	s := &shim{t: t, exit: make(chan int, 1), answers: map[uint64]*wire.Frame{}, fds: map[uint64][]int{}}
	s.changed = sync.NewCond(&s.mu)
	s.cmd = exec.Command(os.Args[0])
	s.cmd.ExtraFiles = []*os.File{theirs}
	s.cmd.Env = append(os.Environ(), sidecarEnv+"=3", "OUTRIDER_TEST_PARENT="+strconv.Itoa(os.Getpid()),
		"OUTRIDER_TEST_LOG="+filepath.Join(t.TempDir(), "sidecar.log"), "OUTRIDER_VERIFY=all")
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	require.NoError(t, s.cmd.Start())
	require.NoError(t, theirs.Close())
	s.conn, err = bridge.NewConn(pair[0])
	require.NoError(t, err)
	go func() {
		_ = s.cmd.Wait()
		s.exit <- s.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		s.conn.Close()
		_ = s.cmd.Process.Kill()
	})
	frame, _, err := s.conn.Receive()
	require.NoError(t, err)
	require.NotNil(t, frame.GetReady())
	require.EqualValues(t, s.cmd.Process.Pid, frame.GetReady().GetPid())
	require.NoError(t, s.conn.Send(&wire.Frame{Body: &wire.Frame_Hello{Hello: &wire.Hello{ProtocolMin: bridge.ProtocolMin, ProtocolMax: bridge.ProtocolMax, Version: "test"}}}))
	go s.read()
	return s
}

func (s *shim) read() {
	for {
		frame, fds, err := s.conn.Receive()
		s.mu.Lock()
		switch {
		case err != nil:
			s.eof = true
		case frame.GetAnswer():
			s.answers[frame.GetId()] = frame
			s.fds[frame.GetId()] = fds
		case frame.GetLocate() != nil:
			_ = s.conn.Send(&wire.Frame{Id: frame.GetId(), Answer: true, Body: &wire.Frame_Located{Located: &wire.Located{Address: s.address}}})
		default:
			s.pushes = append(s.pushes, frame)
		}
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send asks without waiting; the id names the answer.
func (s *shim) send(frame *wire.Frame, fds ...int) uint64 {
	s.mu.Lock()
	s.asked++
	frame.Id = s.asked
	s.mu.Unlock()
	require.NoError(s.t, s.conn.Send(frame, fds...))
	return frame.GetId()
}

// answer waits for the answer to id.
func (s *shim) answer(id uint64) (*wire.Frame, []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.answers[id] == nil && !s.eof {
		s.changed.Wait()
	}
	require.NotNil(s.t, s.answers[id], "the sidecar closed before it answered %d", id)
	return s.answers[id], s.fds[id]
}

func (s *shim) ask(frame *wire.Frame, fds ...int) *wire.Frame {
	answer, _ := s.answer(s.send(frame, fds...))
	return answer
}

// must asks and expects no error.
func (s *shim) must(frame *wire.Frame, fds ...int) *wire.Frame {
	s.t.Helper()
	answer := s.ask(frame, fds...)
	require.Empty(s.t, answer.GetError().GetMessage())
	return answer
}

// next waits for the next push that want accepts, and takes it.
func (s *shim) next(want func(*wire.Frame) bool) *wire.Frame {
	frame := s.nextOrEnd(want)
	require.NotNil(s.t, frame, "the sidecar closed while something was awaited")
	return frame
}

// nextOrEnd is next, or nil when the sidecar closes.
func (s *shim) nextOrEnd(want func(*wire.Frame) bool) *wire.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for i, frame := range s.pushes {
			if want(frame) {
				s.pushes = append(s.pushes[:i:i], s.pushes[i+1:]...)
				return frame
			}
		}
		if s.eof {
			return nil
		}
		s.changed.Wait()
	}
}

func (s *shim) located(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// kill ends the sidecar as the kernel's OOM killer would and waits until it is gone.
func (s *shim) kill() {
	require.NoError(s.t, s.cmd.Process.Kill())
	<-s.exit
}

// testRun has a token of this process, for the names of a host's shares come from it and two test processes may run at once.
var testRun = &wire.Run{Name: "test", Id: "00112233445566778899aabbccddeeff", Token: fmt.Sprintf("%032x", os.Getpid())}

func testAccess(t *testing.T) bridge.Access {
	t.Helper()
	access, err := bridge.NewAccess(testRun)
	require.NoError(t, err)
	return access
}

func testConfig() *wire.Config {
	return &wire.Config{
		Source: &wire.Source{}, GroupSize: 2, BatchGroups: 2, Submission: "sample", Order: "fifo", MaxStaleness: -1, Stale: "requeue",
		Full: "block", MaxAttempts: 3, MaxFailed: 0.5, Rewind: "allow", Ownership: "leases", JoinWindowMs: 300,
	}
}

// shared makes a descriptor of a segment's memory and closes the segment.
func shared(t *testing.T, segment *arrowio.Segment) int {
	t.Helper()
	defer segment.Close()
	fd, err := duplicate(segment.Fd())
	require.NoError(t, err)
	return fd
}

func startOwner(t *testing.T, config *wire.Config, rows int, recover bool) (*shim, string) {
	t.Helper()
	s := startShim(t)
	fd := shared(t, arrowtest.Table(t, rows))
	answer := s.must(&wire.Frame{Body: &wire.Frame_Own{Own: &wire.Own{Run: testRun, Config: config, Recover: recover, Ip: "127.0.0.1"}}}, fd)
	require.NoError(t, unix.Close(fd))
	return s, answer.GetOwned().GetAddress()
}

// member is one role behind a shim.
type role struct {
	*shim
	member uint32
	joined *wire.Joined
	grants []*assignment
}

func startMember(t *testing.T, address string, join *wire.Join) *role {
	t.Helper()
	s := startShim(t)
	s.located(address)
	if join.Address = address; join.GetRun() == nil {
		join.Run = testRun
	}
	answer := s.must(&wire.Frame{Body: &wire.Frame_Join{Join: join}})
	return &role{shim: s, member: answer.GetJoined().GetMember(), joined: answer.GetJoined()}
}

func startWorker(t *testing.T, address, name string, slots uint32) *role {
	t.Helper()
	return startMember(t, address, &wire.Join{Name: name, Worker: &wire.WorkerRole{Slots: slots, Engine: true}})
}

func startTrainer(t *testing.T, address string, stateAt int64, state []byte) *role {
	t.Helper()
	return startMember(t, address, &wire.Join{Name: "trainer", Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: stateAt, State: state}})
}

// assignment is one group of a grant.
type assignment struct {
	receipt *wire.Receipt
	row     int64
	version int64
}

func assignments(t *testing.T, grant *wire.Grant) []*assignment {
	t.Helper()
	receipts, err := toReceipts(grant.GetReceipts())
	require.NoError(t, err)
	all := make([]*assignment, len(receipts))
	for i := range receipts {
		all[i] = &assignment{&receipts[i], grant.GetRows()[i], grant.GetVersions()[i]}
	}
	return all
}

func (a *assignment) GetReceipt() *wire.Receipt { return a.receipt }

// assignment waits for the next group to run.
func (r *role) assignment() *assignment {
	if len(r.grants) == 0 {
		frame := r.next(func(f *wire.Frame) bool { return f.GetGrant() != nil })
		r.grants = assignments(r.t, frame.GetGrant())
	}
	first := r.grants[0]
	r.grants = r.grants[1:]
	return first
}

// success reports receipts of one timeline as succeeded, two rows of the first segment each.
func success(receipts ...*wire.Receipt) *wire.Report {
	packed := &wire.Receipts{Timeline: receipts[0].GetTimeline(), Worker: receipts[0].GetWorker()}
	successes := &wire.Successes{Receipts: packed}
	for i, receipt := range receipts {
		packed.Groups = append(packed.Groups, receipt.GetGroup())
		packed.Attempts = append(packed.Attempts, receipt.GetAttempt())
		packed.Executions = append(packed.Executions, receipt.GetExecution())
		successes.Segments, successes.FirstRows, successes.Rows = append(successes.Segments, 0), append(successes.FirstRows, int64(2*i)), append(successes.Rows, 2)
	}
	return &wire.Report{Successes: []*wire.Successes{successes}}
}

// complete reports a group as done, with data; gives the refusal, or nothing.
func (r *role) complete(a *assignment) *wire.Error {
	fd := shared(r.t, arrowtest.Rollouts(r.t, 2, a.GetReceipt().GetGroup()))
	defer unix.Close(fd)
	answer := r.must(&wire.Frame{Member: r.member, Body: &wire.Frame_Report{Report: success(a.GetReceipt())}}, fd)
	if errors := answer.GetReported().GetErrors(); len(errors) > 0 {
		return errors[0]
	}
	return nil
}

// finish completes the next n groups.
func (r *role) finish(n int) {
	r.t.Helper()
	for range n {
		require.Empty(r.t, r.complete(r.assignment()).GetMessage())
	}
}

func (r *role) take(rollout int64) *wire.Lease {
	r.t.Helper()
	return r.must(&wire.Frame{Member: r.member, Body: &wire.Frame_Take{Take: &wire.Take{Rollout: rollout}}}).GetLease()
}

// publish gives the whole lease to one trainer rank.
func (r *role) publish(lease *wire.Lease) *wire.Publication {
	r.t.Helper()
	return r.must(r.publishFrame(lease)).GetPublication()
}

func (r *role) publishFrame(lease *wire.Lease) *wire.Frame {
	shard := &wire.Shard{}
	for _, group := range lease.GetGroups() {
		shard.Locators = append(shard.Locators, group.GetLocator())
		shard.Groups = append(shard.Groups, group.GetGroup())
		shard.Attempts = append(shard.Attempts, group.GetAttempt())
	}
	publish := &wire.Publish{Admission: lease.GetAdmission(), Shards: []*wire.Shard{shard}, Roles: map[string]uint32{"trainer": 1}, Generation: 1}
	return &wire.Frame{Member: r.member, Body: &wire.Frame_Publish{Publish: publish}}
}

func (r *role) admitFrame(publication *wire.Publication) *wire.Frame {
	return &wire.Frame{Member: r.member, Body: &wire.Frame_Admit{Admit: &wire.Admit{Publication: publication, Role: "trainer", Generation: 1}}}
}

func (r *role) commitFrame(lease *wire.Lease) *wire.Frame {
	return &wire.Frame{Member: r.member, Body: &wire.Frame_Commit{Commit: &wire.Commit{Admission: lease.GetAdmission()}}}
}

// train takes, publishes, admits and commits a rollout and returns its groups.
func (r *role) train(rollout int64) []int64 {
	r.t.Helper()
	lease := r.take(rollout)
	r.must(r.admitFrame(r.publish(lease)))
	settled := r.must(r.commitFrame(lease)).GetSettled()
	require.Equal(r.t, "committed", settled.GetStatus())
	return groupsOf(lease)
}

func groupsOf(lease *wire.Lease) []int64 {
	var groups []int64
	for _, group := range lease.GetGroups() {
		groups = append(groups, group.GetGroup())
	}
	return groups
}

func (r *role) stats() *wire.Stats {
	r.t.Helper()
	return r.must(&wire.Frame{Member: r.member, Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{Ready: true}}}).GetStats_()
}
