package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"outrider/scheduler/script"
)

func scriptCommand() *cobra.Command {
	rewrite := false
	cmd := &cobra.Command{
		Use:   "script FILE...",
		Short: "Play stories over the owner's rules",
		Long: "Play each FILE, a script of commands and expected output (docs/scripts.md), and print what came out.\n" +
			"Exit status 1 when that differs from what the file expects.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := playScripts(cmd.OutOrStdout(), files, rewrite); err != nil {
				return statusError{status: 1, err: err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "write what came out into the files instead of comparing it")
	return cmd
}

// playScripts plays every file before it reports the first that differs.
func playScripts(out io.Writer, files []string, rewrite bool) error {
	var failed error
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("outrider: script: %w", err)
		}
		played, differ, err := script.Play(string(text))
		switch {
		case err != nil:
			return fmt.Errorf("outrider: script %s: %w", path, err)
		case rewrite:
			if err := os.WriteFile(path, []byte(played), 0o644); err != nil { //nolint:gosec // a script is for everybody to read
				return fmt.Errorf("outrider: script: %w", err)
			}
		default:
			_, _ = io.WriteString(out, played)
			if len(differ) > 0 && failed == nil {
				failed = fmt.Errorf("outrider: script %s: other output than expected in the blocks of lines %v; read it, then accept it with --rewrite", path, differ)
			}
		}
	}
	return failed
}
