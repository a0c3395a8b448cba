package sidecar

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// between stands between members and their owner, passes on what they say, and says other things to the members in the owner's name.
type between struct {
	address string
	server  *bridge.OwnerServer

	mu      sync.Mutex // guards below, and sending
	members []bridge.Session
	socket  string        // where the members' sidecar answers its neighbours
	heard   []*wire.Frame // from the owner, in the order of arrival
}

func startBetween(t *testing.T, owner string) *between {
	b := &between{}
	access := testAccess(t)
	b.server = bridge.NewOwnerServer(access, func(ctx context.Context, member bridge.Session) error {
		upstream, err := bridge.DialOwner(ctx, owner, access)
		if err != nil {
			return err
		}
		defer upstream.Close()
		b.mu.Lock()
		b.members = append(b.members, member)
		b.mu.Unlock()
		go func() {
			for frame, err := upstream.Recv(); err == nil; frame, err = upstream.Recv() {
				b.mu.Lock()
				b.heard = append(b.heard, frame)
				_ = member.Send(frame)
				b.mu.Unlock()
			}
		}()
		for frame, err := member.Recv(); err == nil; frame, err = member.Recv() {
			if frame.GetJoin() != nil {
				b.mu.Lock()
				b.socket = frame.GetJoin().GetEndpoint().GetSocket()
				b.mu.Unlock()
			}
			if upstream.Send(frame) != nil {
				break
			}
		}
		return nil
	})
	var err error
	b.address, err = b.server.ServeLocal("127.0.0.1:1")
	require.NoError(t, err)
	return b
}

// say says something to one of the members.
func (b *between) say(member int, frame *wire.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.members[member%len(b.members)].Send(frame) // which may have ended
}

// learn is what was heard since.
func (b *between) learn() []*wire.Frame {
	b.mu.Lock()
	defer b.mu.Unlock()
	heard := b.heard
	b.heard = nil
	return heard
}

// answers reports whether a sidecar answers a question that has but one answer; one that has ended has ended in order.
func answers(t require.TestingT, s *shim) {
	const id = 1 << 50
	_ = s.conn.Send(&wire.Frame{Id: id, Member: 1 << 30, Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{}}})
	s.mu.Lock()
	for s.answers[id] == nil && !s.eof {
		s.changed.Wait()
	}
	answer := s.answers[id]
	s.mu.Unlock()
	if answer == nil {
		require.Zero(t, <-s.exit, "exit code of a sidecar; its panic is above")
		return
	}
	require.Equal(t, string(bridge.Closed), answer.GetError().GetKind())
}

func TestASidecarStandsWhateverIsSaidToIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		owner, address := startOwner(t, testConfig(), 8, false)
		middle := startBetween(t, address)
		s := startShim(t)
		s.located(middle.address)
		defer func() {
			middle.server.Stop()
			for _, process := range []*shim{s, owner} {
				process.conn.Close()
				_ = process.cmd.Process.Kill()
			}
		}()
		heard := &heard{parts: map[protoreflect.FullName][]proto.Message{}}
		any := anyMessage{r, heard}
		for _, join := range []*wire.Join{
			{Worker: &wire.WorkerRole{Slots: 64, Engine: true}},
			{Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, StateAt: -1}},
			{},
		} {
			join.Run, join.Address = testRun, middle.address
			heard.hear(s.must(&wire.Frame{Body: &wire.Frame_Join{Join: join}}).ProtoReflect())
		}
		middle.mu.Lock()
		neighbour, err := bridge.Dial(middle.socket)
		middle.mu.Unlock()
		require.NoError(t, err)
		defer neighbour.Close()
		var frames []*wire.Frame // what the owner has said
		var granted []*wire.Receipt
		for range rapid.IntRange(1, 60).Draw(r, "frames") {
			for _, frame := range middle.learn() {
				heard.hear(frame.ProtoReflect())
				frames = append(frames, frame)
				if receipts, err := toReceipts(frame.GetGrant().GetReceipts()); err == nil && len(receipts) > 0 {
					granted = append(granted, &receipts[0])
				}
			}
			var fds []int
			frame := &wire.Frame{Member: rapid.Uint32Range(0, 4).Draw(r, "member")}
			toMember := rapid.Bool().Draw(r, "from the owner")
			switch spoilt := rapid.Bool().Draw(r, "spoilt"); {
			case spoilt && toMember && len(frames) > 0:
				frame = proto.CloneOf(rapid.SampledFrom(frames).Draw(r, "frame"))
				any.spoil(frame.ProtoReflect())
			case spoilt && len(granted) > 0:
				frame = &wire.Frame{Id: 5, Member: 1, Body: &wire.Frame_Report{Report: proto.CloneOf(success(granted[0]))}}
				fds, granted = append(fds, shared(t, arrowtest.Rollouts(t, 2, granted[0].GetGroup()))), granted[1:]
				any.spoil(frame.ProtoReflect())
			default:
				any.fill(frame.ProtoReflect(), 5)
				for range rapid.IntRange(0, 2).Draw(r, "descriptors") {
					fds = append(fds, anyDescriptor(t, r))
				}
			}
			switch {
			case frame.GetSpilled() != nil: // the framing itself: who breaks that is heard no more
			case toMember:
				middle.say(rapid.IntRange(0, 2).Draw(r, "to"), frame)
			case rapid.IntRange(0, 3).Draw(r, "from a neighbour") == 0:
				_ = neighbour.Send(frame, fds...)
			default:
				_ = s.conn.Send(frame, fds...)
			}
			bridge.CloseDescriptors(fds)
		}
		answers(r, s)
		answers(r, owner)
	})
}

// anyDescriptor is rows, a table, memory of anything, or no memory at all.
func anyDescriptor(t *testing.T, r *rapid.T) int {
	switch rapid.IntRange(0, 3).Draw(r, "descriptor") {
	case 0:
		return shared(t, arrowtest.Rollouts(t, 2, 0))
	case 1:
		return shared(t, arrowtest.Table(t, 3))
	case 2:
		fd, err := unix.MemfdCreate("anything", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		_, err = unix.Write(fd, rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(r, "bytes"))
		require.NoError(t, err)
		return fd
	default:
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		return fd
	}
}
