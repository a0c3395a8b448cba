package main

import (
	"encoding/json"
	"fmt"
	"io"

	"outrider/arrowio"
)

// arrowUsage is what `outrider arrow` prints when it is asked for nothing it knows.
const arrowUsage = `usage: outrider arrow verify FILE...

Reads each FILE as an Arrow IPC stream and prints one JSON object a line:
file, verdict (read, damaged, unsupported), rows, a digest of each column, error.
Exit status: 0 all read, 1 any damaged, 2 any unsupported and none damaged, 64 wrong usage.
`

// arrowCommand runs `outrider arrow` with the arguments after it and returns the exit status.
func arrowCommand(args []string, stdout io.Writer) int {
	if len(args) < 2 || args[0] != "verify" {
		_, _ = fmt.Fprint(stdout, arrowUsage)
		return 64
	}
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	damaged, unsupported := false, false
	for _, path := range args[1:] {
		v := arrowio.Verify(path)
		damaged = damaged || v.Verdict == arrowio.VerdictDamaged
		unsupported = unsupported || v.Verdict == arrowio.VerdictUnsupported
		if out.Encode(v) != nil {
			return 1
		}
	}
	switch {
	case damaged:
		return 1
	case unsupported:
		return 2
	}
	return 0
}
