package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"outrider/scheduler/simulate"
)

// simulation is what one call of the command runs.
type simulation struct {
	seeds, events int
	first         uint64
	dir           string
}

func simulateCommand() *cobra.Command {
	s := simulation{}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Play whole runs with random losses over the owner's rules",
		Long: "Play one run for each seed: workers, engines, trainers and an owner with messages that come late, twice or not at all,\n" +
			"and losses of all of them (docs/scripts.md). A seed that fails is shrunk and written as a script that\n" +
			"`outrider script` plays to the same failure. Exit status 1 when one fails.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.seeds < 1 || s.events < 1 {
				return fmt.Errorf("outrider: simulate: --seeds=%d --events=%d; each must be at least 1", s.seeds, s.events)
			}
			if err := s.run(cmd.OutOrStdout()); err != nil {
				return statusError{status: 1, err: err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&s.seeds, "seeds", 1000, "how many seeds to play")
	flags.Uint64Var(&s.first, "seed", 1, "the first of them")
	flags.IntVar(&s.events, "events", 1000, "events before the faults end and the run has to")
	flags.StringVar(&s.dir, "dir", ".", "where the script of a failing seed goes")
	return cmd
}

// run plays the seeds on every core, and goes on after one that fails. Last it says how often each fault was drawn.
func (s simulation) run(out io.Writer) error {
	work, results := make(chan uint64), make(chan simulate.Result)
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Add(1)
		go func() {
			defer players.Done()
			for seed := range work {
				results <- simulate.Run(seed, s.events)
			}
		}()
	}
	go func() {
		for i := range s.seeds {
			work <- s.first + uint64(i)
		}
		close(work)
		players.Wait()
		close(results)
	}()
	lines, failed, faults := 0, 0, map[string]int{}
	began := time.Now()
	var wrong error
	for r := range results {
		lines += r.Lines
		for name, n := range r.Faults {
			faults[name] += n
		}
		if r.Failure == "" {
			continue
		}
		failed++
		_ = os.MkdirAll(s.dir, 0o755) //nolint:gosec // one that it cannot make it cannot write to either
		path := filepath.Join(s.dir, fmt.Sprintf("seed_%d.txt", r.Seed))
		if err := os.WriteFile(path, []byte(r.Script), 0o644); err != nil { //nolint:gosec // a script is for everybody to read
			wrong = errors.Join(wrong, fmt.Errorf("outrider: simulate: %w", err))
		}
		_, _ = fmt.Fprintf(out, "seed %d: %s\n  %d of %d events, in %s\n", r.Seed, r.Failure, r.Kept, r.Drawn, path)
	}
	all := 0
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		all += faults[name]
		_, _ = fmt.Fprintf(out, "%9d %s\n", faults[name], name)
	}
	_, _ = fmt.Fprintf(out, "%d seeds from %d, %.0f a minute, %d events, %d of them faults, %d commands, %d failed\n",
		s.seeds, s.first, float64(s.seeds)/time.Since(began).Minutes(), s.seeds*s.events, all, lines, failed)
	if failed > 0 {
		wrong = errors.Join(wrong, fmt.Errorf("outrider: simulate: %d of %d seeds break a promise", failed, s.seeds))
	}
	return wrong
}
