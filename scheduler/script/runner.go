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
	clock   time.Duration // what the owner is told; below now after it was set back
	procs   []*process
	// bySessions has every process ever, also under the sessions that it had before.
	bySessions map[leases.Session]*process
	made       int // sessions ever given to processes
	// accounts are kept beside those of each life of the owner, from what can be seen from outside.
	accounts map[*scheduler.Scheduler]*account
	// grants has the receipt of every execution that was granted.
	grants map[granted]leases.Receipt
	// oldest is the oldest version that the data of an execution used, as its worker reported it.
	oldest  map[run]int64
	tickets int
	// asked are the calls that wait, with the life of the owner that was asked.
	asked   map[scheduler.Ticket]*scheduler.Scheduler
	answers map[scheduler.Ticket]scheduler.Answer
	// commits are the calls that wait for a commit, by admission.
	commits map[scheduler.Ticket]uint64
	// callers are the processes that a waiting call is answered to; an answer to one whose connection is cut is lost.
	callers map[scheduler.Ticket]caller
	// backs are the calls that put the weights of the trainers back to older ones when they are answered.
	backs    map[scheduler.Ticket]bool
	keeping  map[scheduler.Ticket]keeping
	holders  map[uint64]*process // of a lease, by admission
	released map[letGo]bool      // data that was let go
	breaks   int
	refused  error                            // what the last command was told, when it was refused
	given    map[uint64]scheduler.Lease       // by admission, as last answered
	pubs     map[uint64]scheduler.Publication // by admission, as last published
	// admitted are the processes that admitted, by admission: those that step when the commit is answered.
	admitted map[uint64][]*process
	// admissionsOf are the words by which ranks admitted, by admission: the last of each.
	admissionsOf map[uint64]map[leases.Rank]leases.AdmitRequest
	states       map[string]checkpoint
	pushes       map[leases.PushID]string         // the ids that scripts give them
	supplies     map[*scheduler.Scheduler]*supply // data sources, beside each life of the owner
	supplied     int64                            // groups of a data source
	givings      uint64
	frees        bool // hosts have the memory of data back as soon as it is let go
	quiet        bool // effects are carried out and not shown
	infos        bool // logs of level Info are shown
	out          strings.Builder
}

// New returns a Runner with nothing in it.
func New() *Runner {
	return &Runner{
		names: names{sessions: map[leases.Session]string{}, places: map[run]int{}, byID: map[uint64]int{}}, answers: map[scheduler.Ticket]scheduler.Answer{},
		asked: map[scheduler.Ticket]*scheduler.Scheduler{}, commits: map[scheduler.Ticket]uint64{},
		bySessions: map[leases.Session]*process{}, accounts: map[*scheduler.Scheduler]*account{}, grants: map[granted]leases.Receipt{}, oldest: map[run]int64{},
		given: map[uint64]scheduler.Lease{}, pubs: map[uint64]scheduler.Publication{}, states: map[string]checkpoint{},
		admitted: map[uint64][]*process{}, admissionsOf: map[uint64]map[leases.Rank]leases.AdmitRequest{}, callers: map[scheduler.Ticket]caller{}, holders: map[uint64]*process{}, pushes: map[leases.PushID]string{}, supplies: map[*scheduler.Scheduler]*supply{}, released: map[letGo]bool{}, backs: map[scheduler.Ticket]bool{}, keeping: map[scheduler.Ticket]keeping{},
	}
}

// Line runs one command line and returns what came out.
func (r *Runner) Line(line string) string { return r.Block([]string{line}) }

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
		"reattach": (*Runner).cmdReattach, "lose": (*Runner).cmdLose, "leave": (*Runner).cmdLeave, "deliver": (*Runner).cmdDeliver, "drain": (*Runner).cmdDrain, "sidecar": (*Runner).cmdSidecar,
		"advance": (*Runner).cmdAdvance, "logs": (*Runner).cmdLogs,
		"done": (*Runner).cmdDone, "success": (*Runner).cmdTerminal, "retry": (*Runner).cmdTerminal,
		"failure": (*Runner).cmdTerminal, "discard": (*Runner).cmdTerminal, "report": (*Runner).cmdReport, "confirm": (*Runner).cmdConfirm,
		"freed": (*Runner).cmdFreed, "slots": (*Runner).cmdSlots, "engine": (*Runner).cmdEngine, "quiet": (*Runner).cmdQuiet, "cancel-groups": (*Runner).cmdCancelGroups, "credit": (*Runner).cmdCredit, "mapped": (*Runner).cmdMapped, "kept": (*Runner).cmdKept,
		"push": (*Runner).cmdPush, "offer": (*Runner).cmdOffer, "end-stream": (*Runner).cmdEndStream, "source": (*Runner).cmdSource,
		"take": (*Runner).cmdTake, "cancel-take": (*Runner).cmdCancelTake, "publish": (*Runner).cmdPublish,
		"add": (*Runner).cmdAdd, "added": (*Runner).cmdAdded, "admit": (*Runner).cmdAdmit, "commit": (*Runner).cmdCommit, "rollback": (*Runner).cmdRollback,
		"status": (*Runner).cmdStatus, "discard-groups": (*Runner).cmdDiscardGroups, "appended": (*Runner).cmdAppended, "restored": (*Runner).cmdRestored,
		"train": (*Runner).cmdTrain, "weights": (*Runner).cmdWeights,
		"hold": (*Runner).cmdHold, "frontier": (*Runner).cmdFrontier, "cancel-frontier": (*Runner).cmdCancelFrontier,
		"release": (*Runner).cmdRelease, "update": (*Runner).cmdUpdate, "rebroadcast": (*Runner).cmdRebroadcast, "withdraw": (*Runner).cmdWithdraw,
		"update-status": (*Runner).cmdUpdateStatus, "record": (*Runner).cmdRecord, "undo": (*Runner).cmdUndo,
		"state": (*Runner).cmdState, "saved": (*Runner).cmdSaved, "rewind": (*Runner).cmdRewind,
		"next-rollout": (*Runner).cmdNextRollout, "close": (*Runner).cmdClose,
		"stats": (*Runner).cmdStats, "step-stats": (*Runner).cmdStepStats, "books": (*Runner).cmdBooks, "log-copy": (*Runner).cmdLogCopy,
		"proof": (*Runner).cmdProof, "stuck": (*Runner).cmdStuck,
	}
}

// ownerless are the commands that make sense while no owner runs.
var ownerless = map[string]bool{
	"owner": true, "restart-owner": true, "lose": true, "sidecar": true, "log-copy": true, "weights": true, "logs": true,
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
	if r.owner == nil && !ownerless[a.command] {
		panic(usage("%s needs an owner", a.command))
	}
	f(r, a)
	a.done()
}

func (r *Runner) ticket() scheduler.Ticket {
	r.tickets++
	t := scheduler.Ticket(r.tickets)
	r.asked[t] = r.owner
	return t
}

// caller is a process that makes a waiting call, and the connection that it makes it on.
type caller struct {
	p          *process
	connection int
}

// calls gives a call of a process a ticket. nil is nobody: its answers are never lost.
func (r *Runner) calls(p *process) scheduler.Ticket {
	t := r.ticket()
	if p != nil {
		r.callers[t] = caller{p, p.connections}
	}
	return t
}

// by reads who makes a call, when the command says so.
func (r *Runner) by(a *args) *process {
	if name := a.text("by", ""); name != "" {
		return r.find(name)
	}
	return nil
}

func (r *Runner) cmdAdvance(a *args) {
	d, err := time.ParseDuration(a.word("a duration"))
	if err != nil {
		panic(usage("%v", err))
	}
	r.clock += d
	r.now = max(r.now, r.clock)
	r.owner.Advance(r.clock)
}

func (r *Runner) cmdLogs(a *args) {
	r.infos = a.flag("on")
	if !r.infos && !a.flag("off") {
		panic(usage("logs on, or logs off"))
	}
}
