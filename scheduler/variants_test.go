package scheduler_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/scheduler/script"
)

// story is the command lines of one script.
type story struct {
	name  string
	lines []string
}

func stories(t *testing.T) []story {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var out []story
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks, _, err := script.Parse(string(text))
		require.NoError(t, err)
		s := story{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
		for _, b := range blocks {
			s.lines = append(s.lines, b.Commands...)
		}
		out = append(out, s)
	}
	return out
}

// messages are the commands that stand for one message of a process, which may come twice.
var messages = map[string]bool{
	"done": true, "success": true, "retry": true, "failure": true, "discard": true, "confirm": true, "publish": true, "admit": true, "log-copy": true,
	"take": true, "commit": true, "record": true, "release": true, "restored": true, "push": true,
}

func doubled(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	return messages[word] && !strings.Contains(rest, "unsaid")
}

// settled is what a run's account has come to, "" while there is none.
func settled(r *script.Runner) string {
	if r.Owner() == nil {
		return ""
	}
	return r.Line("books")
}

// S10.05: every report, admission and confirmation comes twice, and the same account results.
func TestS10_05_StoriesWithEveryMessageTwice(t *testing.T) {
	t.Parallel()
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			once, twice := script.New(), script.New()
			for _, line := range s.lines {
				once.Line(line)
				out := twice.Line(line)
				if doubled(line) {
					out += twice.Line(line)
				}
				require.NotContains(t, out, "BROKEN", line)
				require.Equal(t, settled(once), settled(twice), line)
			}
		})
	}
}

// S10.05: one message comes after up to latest of the lines that follow it in its story, once for each message and delay. What
// it says may be refused by then, or what others say before it; no promise breaks, and where nothing comes out otherwise but later
// the same account results.
func TestS10_05_StoriesWithOneMessageLate(t *testing.T) {
	t.Parallel()
	const latest = 8
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			plain := played(t, s.lines)
			for n, line := range s.lines {
				if !doubled(line) || strings.HasPrefix(line, "restored ") { // a rank that has trained again has not restored
					continue
				}
				for late := n + 1; late < min(n+1+latest, len(s.lines)); late++ {
					got := played(t, slices.Concat(s.lines[:n], s.lines[n+1:late+1], []string{line}, s.lines[late+1:]))
					if slices.Equal(got.out, plain.out) {
						require.Equal(t, plain.account, got.account, "%q after %q", line, s.lines[late])
					}
				}
			}
		})
	}
}

// outcome is what a story has come to: all that came out, sorted, and its account.
type outcome struct {
	out     []string
	account string
}

func played(t *testing.T, lines []string) outcome {
	t.Helper()
	r := script.New()
	var got outcome
	for _, line := range lines {
		out := r.Line(line)
		require.NotContains(t, out, "BROKEN", "%q of %q", line, lines)
		got.out = append(got.out, strings.Split(out, "\n")...)
	}
	slices.Sort(got.out)
	got.account = settled(r)
	return got
}

// S10.03, S10.05: the owner dies after any event of any story, and everybody else comes back to the next one. What was
// acknowledged is, or is undone because the weights do not hold it; no promise breaks.
func TestS10_03_StoriesWithTheOwnerLostAfterEveryEvent(t *testing.T) {
	t.Parallel()
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for n := range s.lines {
				r := script.New()
				for _, line := range s.lines[:n+1] {
					r.Line(line)
				}
				if r.Owner() == nil {
					continue
				}
				before := r.Owner().Stats()
				out := r.Line("restart-owner")
				for _, name := range r.Living() {
					if r.View(name).Alive {
						out += r.Line("reattach " + name)
					}
				}
				for _, name := range r.Living() {
					out += r.Line("deliver " + name)
				}
				out += r.Line("advance 6s")
				require.NotContains(t, out, "usage", s.lines[n])
				require.NotContains(t, out, "BROKEN", s.lines[n])
				after := r.Owner().Stats()
				if after.Unowned || after.NextRollout < before.NextRollout || after.Timeline.Number == 0 {
					continue // nobody has the account, or the weights are older
				}
				require.GreaterOrEqual(t, after.Books.Acknowledged.Groups, before.Books.Acknowledged.Groups, s.lines[n])
			}
		})
	}
}
