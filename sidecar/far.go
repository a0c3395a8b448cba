package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/sidecar/node"
)

const (
	// farTries is how often a segment of another host is asked for: a connection may be cut in the middle.
	farTries = 4
	// farStall is how long a fetch waits for the next message of a holder.
	farStall = 20 * time.Second
)

// flights answers sidecars of other hosts, and stock Flight clients, about this process's segments.
type flights struct {
	log  hclog.Logger
	find flight.Find

	mu        sync.Mutex // guards below
	server    *flight.Server
	addresses map[string]string // host:port by IP
}

func newFlights(log hclog.Logger, held *segments) *flights {
	find := func(token string, ticket []byte) (flight.Found, error) {
		found, err := held.find(token, ticket)
		return found, bridge.ToStatus(err)
	}
	return &flights{log: log, find: find, addresses: map[string]string{}}
}

// address is where this process answers on an IP of its own; it listens there from the first call on, as a process of the run that the
// first call is for: a process has a part in one. Empty: it cannot, and then other hosts cannot fetch.
func (f *flights) address(ip string, access bridge.Access) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ip == "" || f.addresses[ip] != "" {
		return f.addresses[ip]
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		f.log.Warn("no Flight endpoint: other hosts cannot read what is made here", "ip", ip, "error", err)
		return ""
	}
	if f.server == nil {
		f.server = flight.NewServer(access.Serve, f.find)
	}
	f.addresses[ip] = listener.Addr().String()
	server := f.server
	go func() {
		if err := server.Serve(listener); err != nil {
			f.log.Error("Flight endpoint failed", "error", err)
		}
	}()
	return f.addresses[ip]
}

func (f *flights) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		f.server.Stop()
	}
}

// find looks up a ticket, which is a Locator; one without rows names the whole segment.
func (s *segments) find(token string, ticket []byte) (flight.Found, error) {
	locator := &wire.Locator{}
	if err := proto.Unmarshal(ticket, locator); err != nil {
		return flight.Found{}, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: a ticket of %d bytes is no locator (%v); send a serialized Locator", len(ticket), err))
	}
	fds, err := s.share(token, []*wire.SegmentId{locator.GetSegment()})
	if err != nil {
		return flight.Found{}, err
	}
	segment, err := arrowio.Open(fds[0])
	if err != nil {
		return flight.Found{}, err
	}
	found := flight.Found{Segment: segment, First: locator.GetFirstRow(), Rows: locator.GetRows()}
	if found.Rows == 0 {
		found.Rows = segment.Rows()
	}
	return found, nil
}

// routeTo is the IP of this host from which others reach it that reach an owner's address. No packet is sent.
func routeTo(address string) string {
	address, _, _ = strings.Cut(address, "@")
	conn, err := net.Dial("udp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if local, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return local.IP.String()
	}
	return ""
}

// land fetches segments of another host into memory of this one, sealed and checked; the descriptors are the caller's.
func land(access bridge.Access, from *wire.Endpoint, ids []*wire.SegmentId) ([]int, error) {
	client, err := flight.Dial(from.GetAddress(), access.Token, access.Dial, node.UsableMemory(), farStall)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var all []int
	for _, id := range ids {
		fd, err := landOne(client, &wire.Locator{Segment: id})
		if err != nil {
			bridge.CloseDescriptors(all)
			return nil, farError(from, id, err)
		}
		all = append(all, fd)
	}
	return all, nil
}

// landOne fetches some rows of one segment, or all of it, again when it was cut off or came damaged; anything else is for good.
func landOne(client *flight.Client, rows *wire.Locator) (int, error) {
	ticket, err := proto.Marshal(rows)
	if err != nil {
		return -1, err
	}
	var segment *arrowio.Segment
	err = backoff.Retry(func() error {
		var err error
		segment, err = client.Fetch(context.Background(), ticket)
		if passing := errors.Is(err, flight.ErrMismatch) || status.Code(err) == codes.Unavailable && bridge.Untrusted(err) == ""; err != nil && !passing {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond)), farTries-1))
	if err != nil {
		return -1, err
	}
	defer segment.Close()
	return duplicate(segment.Fd())
}

// farError says what became of a fetch and whether another take can help.
func farError(from *wire.Endpoint, id *wire.SegmentId, err error) error {
	what := fmt.Sprintf("outrider: segment %d of session %016x, from %s: %v", id.GetNumber(), id.GetHolder(), from.GetAddress(), err)
	switch {
	case bridge.Untrusted(err) != "":
		return bridge.NewError(bridge.Refused, what+bridge.Untrusted(err))
	case errors.Is(err, flight.ErrMismatch):
		return bridge.NewError(bridge.Damaged, what+"; look for what changes bytes between the hosts")
	case errors.Is(err, flight.ErrTooLarge):
		return bridge.NewError(bridge.Refused, what+"; free memory of this host, or make smaller segments")
	case errors.Is(err, flight.ErrStalled):
		return bridge.NewError(bridge.Revoked, what+"; take the rollout again")
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.DeadlineExceeded:
		return bridge.NewError(bridge.Revoked, what+"; take the rollout again")
	case codes.FailedPrecondition, codes.Unauthenticated:
		return bridge.NewError(bridge.Refused, what)
	}
	return named(err)
}
