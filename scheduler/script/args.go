package script

import (
	"fmt"
	"strconv"
	"strings"
)

// args are one command line's words: key=value pairs, single words (flags), and the words before both.
type args struct {
	command string
	words   []string
	values  map[string]string
	used    map[string]bool
}

func parseArgs(line string) *args {
	fields := strings.Fields(line)
	a := &args{command: fields[0], values: map[string]string{}, used: map[string]bool{}}
	for _, f := range fields[1:] {
		if key, value, pair := strings.Cut(f, "="); pair {
			a.values[key] = value
		} else {
			a.words = append(a.words, f)
		}
	}
	return a
}

// word takes the next single word; it panics with a usage error when there is none.
func (a *args) word(what string) string {
	if len(a.words) == 0 {
		panic(usage("%s needs %s", a.command, what))
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// flag takes a single word out when it is there.
func (a *args) flag(name string) bool {
	for i, w := range a.words {
		if w == name {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return true
		}
	}
	return false
}

func (a *args) has(key string) bool { _, ok := a.values[key]; return ok }

func (a *args) text(key, otherwise string) string {
	a.used[key] = true
	if v, ok := a.values[key]; ok {
		return v
	}
	return otherwise
}

func (a *args) number(key string, otherwise int64) int64 {
	a.used[key] = true
	v, ok := a.values[key]
	if !ok {
		return otherwise
	}
	return number(v)
}

func (a *args) numbers(key string) []int64 {
	a.used[key] = true
	return numbers(a.values[key])
}

// done refuses what the command did not look at: a word with a slip in it would otherwise change nothing.
func (a *args) done() {
	for key := range a.values {
		if !a.used[key] {
			panic(usage("%s knows no %s=", a.command, key))
		}
	}
	if len(a.words) > 0 {
		panic(usage("%s: %q is one word too many", a.command, a.words[0]))
	}
}

func number(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic(usage("%q is no number", v))
	}
	return n
}

// numbers reads 0,2,5-7.
func numbers(v string) []int64 {
	var out []int64
	for part := range strings.SplitSeq(v, ",") {
		if part == "" {
			continue
		}
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged || lo == "" {
			out = append(out, number(part))
			continue
		}
		for n := number(lo); n <= number(hi); n++ {
			out = append(out, n)
		}
	}
	return out
}

// usageError is a script's own mistake; it stops the block.
type usageError string

func usage(format string, v ...any) usageError { return usageError(fmt.Sprintf(format, v...)) }
