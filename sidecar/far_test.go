package sidecar

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// otherHost starts a sidecar in a network namespace of its own, joined to this one by a pair of interfaces. It gives the address
// of this end. Where that is not permitted the test is skipped and says why.
func otherHost(t *testing.T) (*shim, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("two hosts are two network namespaces, and making them needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("two hosts are two network namespaces, and joining them needs the command ip (iproute2)")
	}
	probe := exec.Command("true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := probe.Run(); err != nil {
		t.Skipf("two hosts are two network namespaces, which are not permitted here: %v", err)
	}
	s := startShimApart(t, syscall.CLONE_NEWNET)
	pid := s.cmd.Process.Pid
	name := fmt.Sprintf("orh%d", pid)
	net := fmt.Sprintf("169.254.%d.%d", 1+pid/64%254, pid%64*4)
	var a, b, c, last int
	_, err := fmt.Sscanf(net, "%d.%d.%d.%d", &a, &b, &c, &last)
	require.NoError(t, err)
	here, there := fmt.Sprintf("%d.%d.%d.%d", a, b, c, last+1), fmt.Sprintf("%d.%d.%d.%d", a, b, c, last+2)
	inside := []string{"nsenter", "-t", fmt.Sprint(pid), "-n"}
	for i, command := range [][]string{
		{"ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(pid)},
		{"ip", "addr", "add", here + "/30", "dev", name},
		{"ip", "link", "set", name, "up"},
		append(inside, "ip", "link", "set", "lo", "up"),
		append(inside, "ip", "addr", "add", there+"/30", "dev", "eth0"),
		append(inside, "ip", "link", "set", "eth0", "up"),
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil && i == 0 {
			t.Skipf("two hosts are two network namespaces, which cannot be joined here: %v %s", err, out)
		}
		require.NoError(t, err, "%v %s", command, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", name).Run() })
	return s, here
}

func TestS11_10_AWorkerOfAnotherHostReadsPromptsAndItsGroupsAreTrained(t *testing.T) {
	t.Parallel()
	for what, tls := range map[string]*wire.Tls{"in the clear": nil, "over TLS": newAuthority(t).host(t, "rollouts")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			trainFromAnotherHost(t, secured(tls))
		})
	}
}

func trainFromAnotherHost(t *testing.T, run *wire.Run) {
	t.Helper()
	far, here := otherHost(t)
	owner := startShim(t)
	table := shared(t, arrowtest.Table(t, 8))
	own := &wire.Own{Run: run, Config: testConfig(), Ip: here}
	address := owner.must(&wire.Frame{Body: &wire.Frame_Own{Own: own}}, table).GetOwned().GetAddress()
	require.NoError(t, unix.Close(table))
	trainer := startMember(t, address, &wire.Join{Run: run, Name: "trainer", Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: -1}})

	far.located(address)
	id := far.send(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{
		Run: run, Address: address, Name: "engine-0", Worker: &wire.WorkerRole{Slots: 64, Engine: true},
	}}})
	answer, fds := far.answer(id)
	require.Empty(t, answer.GetError().GetMessage())
	require.Len(t, fds, 1)
	prompts, err := arrowio.Open(fds[0])
	require.NoError(t, err)
	require.EqualValues(t, 8, prompts.Rows())
	require.NoError(t, prompts.Close())

	worker := &role{shim: far, member: answer.GetJoined().GetMember(), joined: answer.GetJoined()}
	worker.finish(2)
	lease := trainer.take(0)
	publication := trainer.publish(lease)
	require.NotEmpty(t, publication.GetEndpoints()[0].GetAddress())
	answer, fds = trainer.answer(trainer.send(trainer.admitFrame(publication)))
	require.Empty(t, answer.GetError().GetMessage())
	require.Len(t, fds, 2)
	for i, fd := range fds {
		segment, err := arrowio.Open(fd)
		require.NoError(t, err)
		want := arrowtest.Rollouts(t, 2, int64(i))
		wanted, err := want.ContentDigest()
		require.NoError(t, err)
		got, err := segment.ContentDigest()
		require.NoError(t, err)
		require.Equal(t, wanted, got)
		require.NoError(t, want.Close())
		require.NoError(t, segment.Close())
	}
	require.Equal(t, "committed", trainer.must(trainer.commitFrame(lease)).GetSettled().GetStatus())
}

func TestS11_10_AHolderThatOnlySeemsToBeOnThisHostIsFetchedFrom(t *testing.T) {
	t.Parallel()
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	fds, err := p.fetch(testAccess(t), &wire.Endpoint{Session: 7, Host: "this", Socket: "outrider/nobody", Address: apart(t, 7, testAccess(t), nil, arrowtest.Rollouts(t, 2, 3, 4)).GetAddress()}, []*wire.SegmentId{{Holder: 7, Number: 1}}, 0)
	require.NoError(t, err)
	segment, err := arrowio.Open(fds[0])
	require.NoError(t, err)
	require.Equal(t, []int64{3, 3, 4, 4}, arrowtest.Groups(segment))
	require.NoError(t, segment.Close())
}

func TestS11_10_WhatAnotherHostDoesNotGiveIsSaidByKind(t *testing.T) {
	t.Parallel()
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	own := testAccess(t)
	far := apart(t, 8, own, nil, arrowtest.Rollouts(t, 2, 3, 4))
	another := own
	another.Token = "another"
	kind := func(access bridge.Access, endpoint *wire.Endpoint, number uint64) bridge.Kind {
		_, err := p.fetch(access, endpoint, []*wire.SegmentId{{Holder: 8, Number: number}}, 0)
		require.Error(t, err)
		return kindOf(err)
	}
	require.Equal(t, bridge.Revoked, kind(own, far, 2), "a segment that is not held")
	require.Equal(t, bridge.Refused, kind(another, far, 1), "a token of another run")
	require.Equal(t, bridge.Revoked, kind(own, &wire.Endpoint{Session: 8, Host: "that", Address: "127.0.0.1:1"}, 1), "nobody there")
	require.Equal(t, bridge.Unsupported, kind(own, &wire.Endpoint{Session: 8, Host: "that"}, 1), "no endpoint")
	require.Equal(t, bridge.Revoked, kind(own, &wire.Endpoint{Session: 8, Host: "this", Socket: "outrider/nobody"}, 1), "nobody here")
}

func TestS11_11_ATicketNamesRowsOfASegment(t *testing.T) {
	t.Parallel()
	held := newSegments(hclog.NewNullLogger())
	held.admitToken("run")
	held.hold(7, 1, arrowtest.Rollouts(t, 2, 3, 4), 1)
	defer held.releaseAll(7)
	ticket, err := proto.Marshal(&wire.Locator{Segment: &wire.SegmentId{Holder: 7, Number: 1}, FirstRow: 2, Rows: 2})
	require.NoError(t, err)
	found, err := held.find("run", ticket)
	require.NoError(t, err)
	require.Equal(t, flight.Found{Segment: found.Segment, First: 2, Rows: 2}, found)
	require.NoError(t, found.Segment.Close())
	_, err = held.find("run", []byte{0xff})
	require.Equal(t, bridge.Refused, kindOf(err))
}
