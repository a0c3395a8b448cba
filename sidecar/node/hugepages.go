package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// hugePagesFile holds the kernel's setting for transparent huge pages of shared memory
// (Documentation/admin-guide/mm/transhuge.rst of Linux): all choices, the one in force in brackets.
const hugePagesFile = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"

// hugePagesWanted gives a segment huge pages as far as they fit inside it, and small segments none.
const hugePagesWanted = "within_size"

// setting returns the choice in brackets.
func setting(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("outrider: %w", err)
	}
	_, rest, found := bytes.Cut(text, []byte("["))
	in, _, closed := bytes.Cut(rest, []byte("]"))
	if !found || !closed {
		return "", fmt.Errorf("outrider: %s says %.80q: %w", path, text, errNoSetting)
	}
	return string(in), nil
}

// HugePages says which segments get huge pages here, and what a node's owner could gain.
func HugePages() Fact { return hugePages(hugePagesFile) }

func hugePages(path string) Fact {
	f := Fact{Name: "huge pages"}
	now, err := setting(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Value = "the kernel has none for shared memory"
		f.Costs, f.Mend = hugePagesCost, "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
		return f
	case err != nil:
		f.Value = err.Error()
	default:
		f.Value = now
	}
	if f.Good = now == hugePagesWanted || now == "always" || now == "force"; f.Good {
		return f
	}
	f.Costs = hugePagesCost
	if now == "advise" {
		f.Costs = "segments of 1 MB and more are written about 1.3 times as slowly"
	}
	f.Mend = fmt.Sprintf("echo %s | sudo tee %s  (until the next boot), or: sudo outrider node --tune", hugePagesWanted, path)
	return f
}

const hugePagesCost = "segments of 1 MB and more are written about 5 times as slowly, and freed 50 times as slowly"

// Change is one thing that Tune has set.
type Change struct {
	File   string `json:"file"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Tune sets what root may set for the good of shared memory, which is the setting for huge pages, and returns what it
// changed; nothing when all is well. It lasts until the next boot.
// Error: the file is not there, or not this user's to write; nothing is changed then.
func Tune() ([]Change, error) { return tune(hugePagesFile) }

func tune(path string) ([]Change, error) {
	before, err := setting(path)
	if err != nil {
		return nil, err
	}
	if hugePages(path).Good {
		return nil, nil
	}
	if err := os.WriteFile(path, []byte(hugePagesWanted), 0o644); err != nil { //nolint:gosec // the kernel's own file, which has its rights
		return nil, fmt.Errorf("outrider: %s stays %s: %w; run this as root, on the host itself and not in a container", path, before, err)
	}
	return []Change{{File: path, Before: before, After: hugePagesWanted}}, nil
}
