package script

import (
	"slices"

	"outrider/leases"
	"outrider/scheduler"
)

// View is what can be seen of a process.
type View struct {
	Name string
	// Alive is false when no process of the name is left.
	Alive   bool
	Session leases.Session
	// Attached says that it is connected to the owner that commands go to.
	Attached bool
	// Inbox counts messages on their way to it, Words those that its log has not said.
	Inbox, Words int
	// Connections counts its attachments: what is asked on one is not answered on the next.
	Connections int
	// Slots is how many samples a worker runs at once.
	Slots int
	// Confirmed is the version that an engine confirmed last.
	Confirmed int64
	// At is the last rollout in its weights.
	At int64
	// Running and Finished are its executions, by grant; a finished one stays until it is released.
	Running, Finished []Execution
}

// Execution is one execution of a process.
type Execution struct {
	Name string
	// Version was announced when it was granted.
	Version int64
	Done    int
	// Promise is what it may write without asking, in bytes; scheduler.NoPromise for any number.
	Promise int64
	// Stopped says that its worker was told to end it.
	Stopped bool
}

// View looks at the living process of a name.
func (r *Runner) View(name string) View {
	for _, p := range slices.Backward(r.procs) {
		if p.name == name && !p.gone {
			return r.view(p)
		}
	}
	return View{At: -1}
}

func (r *Runner) view(p *process) View {
	v := View{
		Name: p.name, Alive: true, Session: p.member.Session, Attached: p.on != nil && p.on == r.owner, Inbox: len(p.inbox), Words: len(p.words), Connections: p.connections, At: p.at,
	}
	if p.member.Worker != nil {
		v.Slots, v.Confirmed = p.member.Worker.Slots, p.member.Worker.Confirmed
	}
	for _, h := range p.held {
		x := Execution{Promise: r.promised(h.Receipt), Name: r.receipt(h.Receipt), Version: h.Version, Done: h.Done, Stopped: p.stop[h.Receipt.Execution]}
		if h.Outcome == nil {
			v.Running = append(v.Running, x)
		} else {
			v.Finished = append(v.Finished, x)
		}
	}
	return v
}

func (r *Runner) promised(x leases.Receipt) int64 {
	if i, known := r.places[runOf(x)]; known {
		return r.executions[i].Promise
	}
	return scheduler.NoPromise
}

// Owner is the life of the owner that commands go to, nil when none runs.
func (r *Runner) Owner() *scheduler.Scheduler { return r.owner }

// Calls counts the waiting calls so far; the last one has this number.
func (r *Runner) Calls() int { return r.tickets }

// Answer is what a waiting call was answered, once its caller has heard it.
func (r *Runner) Answer(call int) (scheduler.Answer, bool) {
	a, ok := r.answers[scheduler.Ticket(call)]
	return a, ok
}

// Admission, Hold and Process give the names that commands use.
func (r *Runner) Admission(id uint64) string { return r.admission(id) }

// Hold is the name of a hold.
func (r *Runner) Hold(id scheduler.HoldID) string { return r.hold(id) }

// Process is the name of a session's process.
func (r *Runner) Process(s leases.Session) string { return r.session(s) }

// Refused is what the last command was told, nil when it was not refused.
func (r *Runner) Refused() error { return r.refused }

// Living are the names of the processes that live, in the order in which they began.
func (r *Runner) Living() []string {
	var out []string
	for _, p := range r.procs {
		if !p.gone {
			out = append(out, p.name)
		}
	}
	return out
}
