// Package status looks at the runs of this host from outside, for people: it asks the sidecars, over the sockets that they listen on.
package status

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// patience is how long one sidecar may take to answer: longer than it waits for its owner itself.
const patience = 8 * time.Second

// Run is one run as it is now.
type Run struct {
	Name string
	// ID tells runs of one name apart.
	ID string
	// Stats are its numbers; nil where Err says why there are none.
	Stats *wire.Stats
	Err   error
}

// Find looks for the runs that sidecars of this user on this host belong to; name is that of one of them, or empty for all. In the order
// of names and ids. Error: the host does not show its sockets.
func Find(name string) ([]Run, error) {
	sockets, err := sockets()
	if err != nil {
		return nil, err
	}
	at := map[string]string{} // socket of a sidecar by the id of its run; the owner's own where it is here
	found := map[string]Run{}
	for i, known := range askAll(sockets) {
		for _, run := range known {
			if name != "" && run.GetName() != name {
				continue
			}
			if _, seen := at[run.GetId()]; !seen || run.GetOwner() {
				at[run.GetId()] = sockets[i]
				found[run.GetId()] = Run{Name: run.GetName(), ID: run.GetId()}
			}
		}
	}
	runs := slices.SortedFunc(maps.Values(found), func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for i := range runs {
		known, err := ask(at[runs[i].ID], runs[i].ID)
		if err != nil {
			runs[i].Err = err
			continue
		}
		runs[i].Stats = known[0].GetStats()
	}
	return slices.DeleteFunc(runs, func(run Run) bool { return ended(run.Err) }), nil
}

// ended reports whether an answer means that the run, or the sidecar that knew it, has ended since it was found.
func ended(err error) bool {
	for _, gone := range []error{io.EOF, unix.ECONNREFUSED, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	var answer *bridge.Error
	return errors.As(err, &answer) && slices.Contains([]bridge.Kind{bridge.Refused, bridge.Closed, bridge.EndOfRun}, answer.Kind)
}

// sockets lists the abstract sockets that may be sidecars'.
func sockets() ([]string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("outrider: %w", err)
	}
	all, err := fs.NetUNIX()
	if err != nil {
		return nil, fmt.Errorf("outrider: the sockets of this host: %w", err)
	}
	names := map[string]bool{} // of a listener and its connections alike
	for _, socket := range all.Rows {
		if name, ours := strings.CutPrefix(socket.Path, "@"+bridge.SocketPrefix); ours {
			names[bridge.SocketPrefix+name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// askAll asks all of them at once which runs they know. One that is no sidecar, or of another user or version, or that hangs or has just
// ended, knows none.
func askAll(sockets []string) [][]*wire.RunStatus {
	known := make([][]*wire.RunStatus, len(sockets))
	var all sync.WaitGroup
	for i, socket := range sockets {
		all.Add(1)
		go func() {
			defer all.Done()
			known[i], _ = ask(socket, "")
		}()
	}
	all.Wait()
	return known
}

// ask puts the question to one sidecar.
func ask(socket, run string) ([]*wire.RunStatus, error) {
	conn, err := bridge.Dial(socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	late := time.AfterFunc(patience, func() { conn.Close() })
	defer late.Stop()
	if err := conn.Send(&wire.Frame{Id: 1, Body: &wire.Frame_GetStatus{GetStatus: &wire.GetStatus{Run: run}}}); err != nil {
		return nil, err
	}
	answer, fds, err := conn.Receive()
	bridge.CloseDescriptors(fds)
	if err != nil {
		return nil, err
	}
	if err := bridge.FromWire(answer.GetError()); err != nil {
		return nil, err
	}
	runs := answer.GetStatus_().GetRuns()
	if run != "" && len(runs) != 1 {
		return nil, fmt.Errorf("outrider: %d answers about run %s", len(runs), run)
	}
	return runs, nil
}
