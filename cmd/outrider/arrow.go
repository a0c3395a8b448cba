package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"outrider/arrowio"
)

// Exit statuses of the arrow commands.
const (
	exitDamaged     = 1
	exitUnsupported = 2
	exitArrowUsage  = 64 // EX_USAGE of sysexits.h: 2 has a meaning of its own here
)

func arrowCommand() *cobra.Command {
	const exits = "Exit status: 0 all read, 1 any damaged, 2 any unsupported and none damaged, 64 wrong usage."
	cmd := &cobra.Command{
		Use:   "arrow",
		Short: "Check and print Arrow IPC streams",
		Long:  "Check and print files that hold an Arrow IPC stream, of whatever origin: damage is found before any value is believed.\n" + exits,
		RunE: func(*cobra.Command, []string) error {
			return statusError{status: exitArrowUsage, err: errors.New("outrider: arrow takes one of verify, cat, schema; see outrider arrow --help")}
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "verify FILE...",
			Short: "Print one JSON object a line: file, verdict (read, damaged, unsupported), rows, a digest of each column, error",
			Long:  "Print one JSON object a line: file, verdict (read, damaged, unsupported), rows, a digest of each column, error.\n" + exits,
			Args:  arrowArgs(cobra.MinimumNArgs(1)),
			RunE:  func(cmd *cobra.Command, files []string) error { return verifyFiles(cmd.OutOrStdout(), files) },
		},
		&cobra.Command{
			Use:   "cat FILE",
			Short: "Print the rows, one JSON object a line",
			Long:  "Print the rows, one JSON object a line.\n" + exits,
			Args:  arrowArgs(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, files []string) error {
				return withStream(files[0], func(s *arrowio.Stream) error { return arrowio.PrintRows(cmd.OutOrStdout(), s) })
			},
		},
		&cobra.Command{
			Use:   "schema FILE",
			Short: "Print the columns with their types, and the metadata",
			Long:  "Print the columns with their types, and the metadata.\n" + exits,
			Args:  arrowArgs(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, files []string) error {
				return withStream(files[0], func(s *arrowio.Stream) error { return arrowio.PrintSchema(cmd.OutOrStdout(), s.Schema()) })
			},
		},
	)
	return cmd
}

// arrowArgs gives wrong arguments the exit status of the arrow commands.
func arrowArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return statusError{status: exitArrowUsage, err: fmt.Errorf("%s: %w; see %[1]s --help", cmd.CommandPath(), err)}
		}
		return nil
	}
}

// verifyFiles prints a verdict of each file. Its error is the worst of them, without words: these stand in the verdicts.
func verifyFiles(stdout io.Writer, files []string) error {
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	var worst error
	for _, path := range files {
		v := arrowio.Verify(path)
		if err := out.Encode(v); err != nil {
			return err
		}
		switch {
		case v.Verdict == arrowio.VerdictDamaged:
			worst = statusError{status: exitDamaged}
		case v.Verdict == arrowio.VerdictUnsupported && worst == nil:
			worst = statusError{status: exitUnsupported}
		}
	}
	return worst
}

// withStream reads a file and hands its stream to use, or says by the exit status why not.
func withStream(path string, use func(*arrowio.Stream) error) error {
	s, err := arrowio.ReadFile(path)
	var unsupported *arrowio.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return statusError{status: exitUnsupported, err: err}
	case err != nil:
		return statusError{status: exitDamaged, err: err}
	}
	defer s.Release()
	if err := use(s); err != nil {
		return statusError{status: exitDamaged, err: err}
	}
	return nil
}
