package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"outrider/sidecar/status"
)

func statusCommand() *cobra.Command {
	asJSON, watch, every := false, false, 2*time.Second
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the runs of this host: rollout, books, bounds, who waits for what, who holds memory",
		Long: "Show the run named RUN, or every run, that a sidecar of this user on this host belongs to: rollout, books, bounds, what waits\n" +
			"for what, who holds memory of rollouts. Any member's host will do, inside its container if it has one.\n" +
			"Exit status: 0 shown, 1 there is none or it does not answer.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			if every <= 0 {
				return fmt.Errorf("--every is %s; it must be more than 0", every)
			}
			for {
				var screen bytes.Buffer
				err := printStatus(&screen, name, asJSON)
				if watch && isTerminal(cmd.OutOrStdout()) {
					_, _ = io.WriteString(cmd.OutOrStdout(), "\x1b[H\x1b[2J") // to the upper left corner of an empty screen
				}
				if _, failed := screen.WriteTo(cmd.OutOrStdout()); failed != nil {
					return fmt.Errorf("outrider: %w", failed)
				}
				if !watch || err != nil {
					return err
				}
				time.Sleep(every)
			}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a list of one JSON object for each run")
	cmd.Flags().BoolVar(&watch, "watch", false, "look again and again, until there is no such run any more")
	cmd.Flags().DurationVar(&every, "every", every, "with --watch, the pause between two looks")
	return cmd
}

// printStatus writes all runs of a name; its error says that there is none, or which one does not answer.
func printStatus(w io.Writer, name string, asJSON bool) error {
	runs, err := status.Find(name)
	if err != nil {
		return statusError{status: 1, err: err}
	}
	if asJSON {
		if err := printJSON(w, append([]status.Run{}, runs...)); err != nil {
			return err
		}
	}
	var failed error
	for i, run := range runs {
		if !asJSON {
			if i > 0 {
				_, _ = fmt.Fprintln(w)
			}
			if err := run.Print(w); err != nil {
				return err
			}
		}
		if run.Err != nil {
			failed = statusError{status: 1} // it has been said
		}
	}
	if len(runs) == 0 {
		what := "no run"
		if name != "" {
			what = fmt.Sprintf("no run %q", name)
		}
		return statusError{status: 1, err: errors.New("outrider: " + what + " has a sidecar of this user on this host; look on the host, and in the container, of one of its actors")}
	}
	return failed
}

// isTerminal reports whether somebody looks at it.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}
