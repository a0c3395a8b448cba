package node

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the report for people: a line for each fact, with cost and mend below one that falls short.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Linux %s, %d cores\n\n", r.Kernel, r.Cores)
	for _, f := range r.Facts {
		mark := "  "
		if !f.Good {
			mark = "! "
		}
		fmt.Fprintf(&b, "%s%-18s%s\n", mark, f.Name, f.Value)
		if !f.Good {
			fmt.Fprintf(&b, "  %-18scosts: %s\n  %-18smend:  %s\n", "", f.Costs, "", f.Mend)
		}
	}
	if r.Rates != nil {
		fmt.Fprintf(&b, "\nOne core, segments of %d MiB, beside memcpy into warm memory (%.1f GB/s):\n", r.Rates.Bytes>>20, r.Rates.Copy/1e9)
		for _, row := range []struct {
			name string
			rate float64
		}{{"publish", r.Rates.Publish}, {"scan", r.Rates.Scan}, {"free", r.Rates.Free}} {
			fmt.Fprintf(&b, "  %-18s%6.1f GB/s  %4.2fx\n", row.name, row.rate/1e9, row.rate/r.Rates.Copy)
		}
	}
	if r.Good() {
		b.WriteString("\nNothing falls short.\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("outrider: %w", err)
	}
	return nil
}
