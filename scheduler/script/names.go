package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// Sessions count up from these, so that a session's number in a message can be told from any other.
const (
	processSessions = 0xa0000000
	ownerSessions   = 0xe0000000
)

// run tells executions apart: two lives of the owner that never met may give the same id.
type run struct {
	execution uint64
	worker    leases.Session
}

func runOf(x leases.Receipt) run { return run{x.Execution, x.Worker} }

// names gives the long ids of a run the short ones of a script, in the order in which they appear: x1 is the first
// execution, a1 the first admission, h1 the first hold, k1 the first waiting call.
type names struct {
	sessions   map[leases.Session]string
	executions []scheduler.Assignment
	places     map[run]int    // of executions
	byID       map[uint64]int // the latest of an id
	admissions []uint64
	holds      []scheduler.HoldID
}

func (n *names) session(s leases.Session) string {
	if name, ok := n.sessions[s]; ok {
		return name
	}
	return s.String()
}

func (n *names) list(sessions []leases.Session) string {
	out := make([]string, len(sessions))
	for i, s := range sessions {
		out[i] = n.session(s)
	}
	return strings.Join(out, ",")
}

func (n *names) execution(id uint64) string {
	if i, ok := n.byID[id]; ok {
		return "x" + strconv.Itoa(i+1)
	}
	return strconv.FormatUint(id, 10)
}

// receipt names the execution of a receipt.
func (n *names) receipt(x leases.Receipt) string {
	if i, ok := n.places[runOf(x)]; ok {
		return "x" + strconv.Itoa(i+1)
	}
	return n.execution(x.Execution)
}

func (n *names) admission(id uint64) string {
	i := slices.Index(n.admissions, id)
	if i < 0 {
		if id == 0 {
			return "a0"
		}
		n.admissions = append(n.admissions, id)
		i = len(n.admissions) - 1
	}
	return "a" + strconv.Itoa(i+1)
}

func (n *names) hold(id scheduler.HoldID) string {
	i := slices.Index(n.holds, id)
	if i < 0 {
		n.holds = append(n.holds, id)
		i = len(n.holds) - 1
	}
	return "h" + strconv.Itoa(i+1)
}

// index reads the number of a short id.
func index(word, letter string, n int) int {
	i, err := strconv.Atoi(strings.TrimPrefix(word, letter))
	if err != nil || !strings.HasPrefix(word, letter) || i < 1 || i > n {
		panic(usage("%q is not one of the %d known %s…", word, n, letter))
	}
	return i - 1
}

func (n *names) findAdmission(word string) uint64 {
	if word == "a0" {
		return 1<<39 - 1 // never given
	}
	return n.admissions[index(word, "a", len(n.admissions))]
}

// executionRange reads x3 or x1-x4.
func (n *names) executionRange(word string) []scheduler.Assignment {
	lo, hi, ranged := strings.Cut(word, "-")
	if !ranged {
		hi = lo
	}
	i, j := index(lo, "x", len(n.executions)), index(hi, "x", len(n.executions))
	return n.executions[i : j+1]
}

var longIDs = regexp.MustCompile(`\bs[ae]0000[0-9a-f]{3}\b|\b(?:execution|admission|hold) \d+`)

// short puts short ids into the text of an error or a log.
func (n *names) short(text string) string {
	return longIDs.ReplaceAllStringFunc(text, func(found string) string {
		kind, id, pair := strings.Cut(found, " ")
		if !pair {
			s, _ := strconv.ParseUint(found[1:], 16, 64)
			return n.session(leases.Session(s))
		}
		v, _ := strconv.ParseUint(id, 10, 64)
		switch {
		case kind == "execution":
			return kind + " " + n.execution(v)
		case kind == "admission" && slices.Contains(n.admissions, v):
			return n.admission(v)
		case kind == "hold" && slices.Contains(n.holds, scheduler.HoldID(v)):
			return n.hold(scheduler.HoldID(v))
		}
		return found
	})
}

func (n *names) timeline(t leases.Timeline) string { return n.short(t.String()) }

func (n *names) error(err error) string { return n.short(err.Error()) }

func groupIDs(groups []scheduler.LeasedGroup) string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = strconv.FormatInt(g.Receipt.Group, 10)
	}
	return strings.Join(out, ",")
}
