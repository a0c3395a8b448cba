package script

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"outrider/leases"
	"outrider/scheduler"
)

// Runner plays one script.
type Runner struct {
	names
	owner   *scheduler.Scheduler // that commands go to; nil before the first owner command and after the owner was killed
	present *scheduler.Scheduler // the present life while a command goes to the former one
	former  *scheduler.Scheduler // a life that was replaced and still runs; nil for none
	cfg     scheduler.Config
	lives   int
	now     time.Duration
	procs   []*process
	made    int // processes ever, for their sessions
	tickets int
	answers map[scheduler.Ticket]scheduler.Answer
	// callers are the processes that a waiting call is answered to; an answer to one whose connection is cut is lost.
	callers map[scheduler.Ticket]*process
	// backs are the calls that put the weights of the trainers back to older ones when they are answered.
	backs    map[scheduler.Ticket]bool
	holders  map[uint64]*process // of a lease, by admission
	released map[letGo]bool      // data that was let go
	breaks   int
	refused  error                            // what the last command was told, when it was refused
	given    map[uint64]scheduler.Lease       // by admission, as last answered
	pubs     map[uint64]scheduler.Publication // by admission, as last published
	// admitted are the processes that admitted, by admission: those that step when the commit is answered.
	admitted map[uint64][]*process
	states   map[string]checkpoint
	quiet    bool // effects are carried out and not shown
	infos    bool // logs of level Info are shown
	out      strings.Builder
}

// New returns a Runner with nothing in it.
func New() *Runner {
	return &Runner{
		names: names{sessions: map[leases.Session]string{}}, answers: map[scheduler.Ticket]scheduler.Answer{},
		given: map[uint64]scheduler.Lease{}, pubs: map[uint64]scheduler.Publication{}, states: map[string]checkpoint{},
		admitted: map[uint64][]*process{}, callers: map[scheduler.Ticket]*process{}, holders: map[uint64]*process{}, released: map[letGo]bool{}, backs: map[scheduler.Ticket]bool{},
	}
}

// Block runs command lines and returns what came out, a line each. Of several commands each is repeated before its own.
func (r *Runner) Block(commands []string) (out string) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case usageError:
			out = r.out.String() + "usage: " + string(e) + "\n"
		default:
			r.broken("panic: %v", e)
			out = r.out.String()
		}
	}()
	r.out.Reset()
	for _, line := range commands {
		if len(commands) > 1 {
			r.say("> %s", line)
		}
		before := r.out.Len()
		r.run(parseArgs(line))
		r.settle()
		r.check()
		if r.out.Len() == before {
			r.say("ok")
		}
	}
	return r.out.String()
}

func (r *Runner) say(format string, v ...any) {
	if len(v) > 0 {
		format = fmt.Sprintf(format, v...)
	}
	r.out.WriteString(strings.TrimRight(format, " ") + "\n")
}

// result shows what a call returned.
func (r *Runner) result(err error, format string, v ...any) {
	switch {
	case err != nil:
		r.refused = err
		r.say("error: %s", r.error(err))
	case format != "":
		r.say(format, v...)
	}
}

var commands map[string]func(*Runner, *args)

func init() {
	commands = map[string]func(*Runner, *args){
		"owner": (*Runner).cmdOwner, "kill-owner": (*Runner).cmdKillOwner, "restart-owner": (*Runner).cmdRestartOwner,
		"worker": (*Runner).cmdWorker, "trainer": (*Runner).cmdTrainer, "client": (*Runner).cmdClient,
		"reattach": (*Runner).cmdReattach, "lose": (*Runner).cmdLose, "deliver": (*Runner).cmdDeliver, "drain": (*Runner).cmdDrain,
		"advance": (*Runner).cmdAdvance, "logs": (*Runner).cmdLogs,
		"done": (*Runner).cmdDone, "success": (*Runner).cmdTerminal, "retry": (*Runner).cmdTerminal,
		"failure": (*Runner).cmdTerminal, "discard": (*Runner).cmdTerminal, "confirm": (*Runner).cmdConfirm,
		"freed": (*Runner).cmdFreed, "cancel-groups": (*Runner).cmdCancelGroups,
		"take": (*Runner).cmdTake, "cancel-take": (*Runner).cmdCancelTake, "publish": (*Runner).cmdPublish,
		"admit": (*Runner).cmdAdmit, "commit": (*Runner).cmdCommit, "rollback": (*Runner).cmdRollback,
		"status": (*Runner).cmdStatus, "discard-groups": (*Runner).cmdDiscardGroups, "appended": (*Runner).cmdAppended,
		"train": (*Runner).cmdTrain, "weights": (*Runner).cmdWeights,
		"hold": (*Runner).cmdHold, "frontier": (*Runner).cmdFrontier, "cancel-frontier": (*Runner).cmdCancelFrontier,
		"release": (*Runner).cmdRelease, "update": (*Runner).cmdUpdate, "rebroadcast": (*Runner).cmdRebroadcast,
		"update-status": (*Runner).cmdUpdateStatus, "record": (*Runner).cmdRecord, "undo": (*Runner).cmdUndo,
		"state": (*Runner).cmdState, "saved": (*Runner).cmdSaved, "rewind": (*Runner).cmdRewind,
		"next-rollout": (*Runner).cmdNextRollout, "close": (*Runner).cmdClose, "fatal": (*Runner).cmdFatal,
		"stats": (*Runner).cmdStats, "books": (*Runner).cmdBooks, "log-copy": (*Runner).cmdLogCopy,
	}
}

// Commands lists the command words, for a check of their documentation.
func Commands() []string {
	var out []string
	for name := range commands {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func (r *Runner) run(a *args) {
	r.refused = nil
	if a.command == "former" {
		r.runFormer(a)
		return
	}
	f := commands[a.command]
	if f == nil {
		panic(usage("there is no command %q", a.command))
	}
	if r.owner == nil && a.command != "owner" && a.command != "restart-owner" && a.command != "lose" && a.command != "log-copy" && a.command != "weights" && a.command != "logs" {
		panic(usage("%s needs an owner", a.command))
	}
	f(r, a)
	a.done()
}

func (r *Runner) ticket() scheduler.Ticket {
	r.tickets++
	return scheduler.Ticket(r.tickets)
}

func (r *Runner) cmdAdvance(a *args) {
	d, err := time.ParseDuration(a.word("a duration"))
	if err != nil {
		panic(usage("%v", err))
	}
	r.now += d
	r.owner.Advance(r.now)
}

func (r *Runner) cmdLogs(a *args) {
	r.infos = a.flag("on")
	if !r.infos && !a.flag("off") {
		panic(usage("logs on, or logs off"))
	}
}
