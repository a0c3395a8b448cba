package status

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"outrider/bridge/wire"
)

// Print writes the run for people: what moves, the books, the bounds, what is wrong, the members.
func (r Run) Print(w io.Writer) error {
	var b strings.Builder
	if r.Stats == nil {
		fmt.Fprintf(&b, "%s  %s\n  %v\n", r.Name, r.ID, r.Err)
	} else {
		fmt.Fprintf(&b, "%s  %s\n", r.Name, r.ID)
		show(&b, r.Stats)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("outrider: %w", err)
	}
	return nil
}

func show(b *strings.Builder, s *wire.Stats) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-11s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "rollout %d · version %d · timeline %d · term %d · ownership %s", s.GetNextRollout(), s.GetAnnouncedVersion(), s.GetTimeline().GetNumber(), s.GetTerm().GetNumber(), s.GetOwnership())
	books := s.GetBooks()
	line("books", "%d groups reserved = %d acknowledged + %d discarded%s + %d failed + %d live", books.GetReserved().GetGroups(), books.GetAcknowledged().GetGroups(),
		discarded(books), reasons(books), books.GetFailed().GetGroups(), books.GetLive().GetGroups())
	line("bounds", "executing %s samples · retained %s groups · completed %s groups · bytes %s", of(s.GetExecuting(), s.GetExecutingLimit()), of(s.GetRetained(), s.GetRetainedLimit()),
		of(s.GetCompleted(), s.GetCompletedLimit()), ofMemory(s.GetBytes(), s.GetBytesLimit()))
	line("staleness", "mean %.2f, max %d versions", s.GetStalenessMean(), s.GetStalenessMax())
	line("so far", "%d requeued · %d evicted · %d stale reports · %d interrupted · %d rewinds", s.GetRequeued(), s.GetEvicted(), s.GetStaleOutcomes(), s.GetInterrupted(), s.GetRewinds())
	for _, odd := range odd(s) {
		line("!", "%s", odd)
	}
	b.WriteByte('\n')
	members(b, s.GetMembers())
}

// odd is what a person may have to look after.
func odd(s *wire.Stats) []string {
	var all []string
	say := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(s.GetRecovering(), "recovering: a restarted owner waits for its base or its members")
	say(s.GetWaitsFor() != "", "a take waits: %s", s.GetWaitsFor())
	say(s.GetHolds() > 0, "%d holds keep new work out", s.GetHolds())
	say(s.GetUnconfirmed() > 0, "%d engines get no work until they confirm version %d", s.GetUnconfirmed(), s.GetAnnouncedVersion())
	say(s.GetStuck() > 0, "%d samples that their workers did not end when told to", s.GetStuck())
	say(s.GetOrphans() > 0, "%d samples of lost workers may run on engines still", s.GetOrphans())
	say(s.GetResting() > 0, "%d groups rest before they go out again", s.GetResting())
	say(s.GetWaitingForBytes() > 0, "%d producers wait until their host has room", s.GetWaitingForBytes())
	say(s.GetOverdrawn() > 0, "%d groups went beyond the byte bound", s.GetOverdrawn())
	for _, m := range s.GetMembers() {
		say(m.GetHeldSegments() > 0, "held by actor %s pid %d for %s, %d segments, %s", m.GetName(), m.GetPid(), seconds(m.GetHeldSeconds()), m.GetHeldSegments(), memory(m.GetHeldBytes()))
	}
	return all
}

// members is one line for each, workers with what they run and ranks with what they have mapped.
func members(b *strings.Builder, all []*wire.MemberStats) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  ROLE\tNAME\tPID\tEXECUTING\tVERSION\tMAPPED\tSESSION")
	for _, m := range all {
		executing, version, mapped := "", "", ""
		if m.GetRole() == "worker" {
			executing = of(m.GetExecuting(), m.GetSlots())
		}
		if m.GetRole() == "worker" || m.GetRole() == "engine" {
			version = fmt.Sprint(m.GetConfirmedVersion())
			if !m.GetConfirmed() {
				version += " (not current)"
			}
		}
		if m.GetMappedBytes() > 0 {
			mapped = memory(m.GetMappedBytes())
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%d\t%s\t%s\t%s\t%016x\n", m.GetRole(), m.GetName(), m.GetPid(), executing, version, mapped, m.GetSession())
	}
	_ = table.Flush() // a Builder takes everything
}

func discarded(books *wire.Books) (groups int64) {
	for _, count := range books.GetDiscarded() {
		groups += count.GetGroups()
	}
	return groups
}

func reasons(books *wire.Books) string {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(books.GetDiscarded())) {
		all = append(all, fmt.Sprintf("%s %d", reason, books.GetDiscarded()[reason].GetGroups()))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

func of(used, limit int64) string {
	if limit == 0 {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%d/%d", used, limit)
}

func ofMemory(used, limit int64) string {
	if limit == 0 {
		return memory(used)
	}
	return memory(used) + "/" + memory(limit)
}

// memory is bytes for people.
func memory(bytes int64) string {
	if bytes < 1e9 {
		return fmt.Sprintf("%.4g MB", float64(bytes/1000)/1000)
	}
	return fmt.Sprintf("%.4g GB", float64(bytes/1e6)/1000)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
