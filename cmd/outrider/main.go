// Command outrider is the sidecar beside a Ray actor, and the tools around it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"outrider/sidecar"
)

// version is set by the build (-ldflags "-X main.version=…"); a plain `go build` shows the module's own.
var version = ""

func main() {
	os.Exit(execute(command(), os.Stderr))
}

// execute runs a command and returns the exit status of the process. Errors are said here, so that one that is only a
// status stays silent.
func execute(cmd *cobra.Command, stderr io.Writer) int {
	err := cmd.Execute()
	var status statusError
	if errors.As(err, &status) {
		if status.err != nil {
			say(stderr, status.err)
		}
		return status.status
	}
	if err != nil {
		say(stderr, err)
		return sidecar.ExitUsage
	}
	return 0
}

// say prints an error as the program's, whether Outrider or a library worded it.
func say(stderr io.Writer, err error) {
	_, _ = fmt.Fprintln(stderr, "outrider:", strings.TrimPrefix(err.Error(), "outrider: "))
}

// statusError is an error that ends the process with a status of its own.
type statusError struct {
	status int
	err    error // nil: everything has been said
}

func (e statusError) Error() string { return fmt.Sprintf("exit status %d: %v", e.status, e.err) }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "outrider",
		Short:         "Rollout runtime for reinforcement learning on Ray",
		Long:          "Outrider keeps the books of asynchronous rollouts beside Ray actors: which prompt group belongs to whom, what may run,\nwhat may be trained on. Python starts `outrider sidecar` by itself; the other commands are for people.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(sidecarCommand(), versionCommand(), scriptCommand(), simulateCommand(), arrowCommand(), nodeCommand(), statusCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), buildVersion()) },
	}
}

func sidecarCommand() *cobra.Command {
	config := sidecar.Config{Version: buildVersion()}
	cmd := &cobra.Command{
		Use:   "sidecar --socket FD --parent PID",
		Short: "Run beside a Python process (started by the package outrider)",
		Long: "Run beside the Python process PID, spoken to over the inherited SOCK_SEQPACKET descriptor FD.\n" +
			"Exit codes: 0 drained, 1 internal, 2 usage, 3 parent lost, 4 incompatible protocol, 5 state refused.",
		Args: cobra.NoArgs,
		Run:  func(*cobra.Command, []string) { os.Exit(sidecar.Run(config)) },
	}
	flags := cmd.Flags()
	flags.IntVar(&config.Socket, "socket", -1, "inherited descriptor of the socket pair")
	flags.IntVar(&config.Parent, "parent", 0, "pid of the process to stay beside")
	flags.StringVar(&config.Log, "log", os.DevNull, "file for the log, JSON lines")
	flags.StringVar(&config.LogLevel, "log-level", "info", "debug, info, warn or error")
	_ = cmd.MarkFlagRequired("socket")
	_ = cmd.MarkFlagRequired("parent")
	return cmd
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
