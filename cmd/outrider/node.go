package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"outrider/sidecar/node"
)

// nodeBytes is the size of the segments that are measured: many huge pages, few seconds.
const nodeBytes = 64 << 20

func nodeCommand() *cobra.Command {
	asJSON, tune := false, false
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Show what this host gives a run, and what mends a shortfall",
		Long: "Show what this host gives a run: kernel features, huge pages for shared memory, memory, file descriptors, and how fast\n" +
			"shared memory is written, read and freed. Below each shortfall stand its cost and the command that mends it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tune {
				return tuneNode(cmd.OutOrStdout(), asJSON)
			}
			r := node.Look(nodeBytes)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return r.Print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&tune, "tune", false, "set what root may set (huge pages for shared memory), say each change, and end")
	return cmd
}

func tuneNode(w io.Writer, asJSON bool) error {
	changes, err := node.Tune()
	if err != nil {
		return statusError{status: 1, err: err}
	}
	if asJSON {
		return printJSON(w, map[string]any{"changes": append([]node.Change{}, changes...)})
	}
	for _, c := range changes {
		_, _ = fmt.Fprintf(w, "%s: %s, was %s (until the next boot; back: echo %[3]s > %[1]s)\n", c.File, c.After, c.Before)
	}
	if len(changes) == 0 {
		_, _ = fmt.Fprintln(w, "Nothing to change.")
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("outrider: %w", err)
	}
	return nil
}
