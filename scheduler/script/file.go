package script

import (
	"fmt"
	"strings"
)

// Block is one step of a script file: its command lines, and the text that is expected below them.
type Block struct {
	// Before is the text between the block before and this one: comments and empty lines, kept as they are.
	Before   string
	Commands []string
	Expected string
	Line     int // of the first command, from 1
}

// Parse splits a script file. A block is its command lines, a line of ----, and the expected text up to an empty line;
// lines that start with # and empty lines stand between blocks. rest is what follows the last block.
func Parse(text string) (blocks []Block, rest string, err error) {
	lines := strings.SplitAfter(text, "\n")
	var before strings.Builder
	for i := 0; i < len(lines); {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			before.WriteString(lines[i])
			i++
			continue
		}
		b := Block{Before: before.String(), Line: i + 1}
		before.Reset()
		for i < len(lines) && strings.TrimSpace(lines[i]) != "----" {
			if line = strings.TrimSpace(lines[i]); line == "" {
				return nil, "", fmt.Errorf("line %d: the block that starts in line %d has no line of ----", i+1, b.Line)
			}
			b.Commands = append(b.Commands, line)
			i++
		}
		if i == len(lines) {
			return nil, "", fmt.Errorf("line %d: the block has no line of ----", b.Line)
		}
		var expected strings.Builder
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
			expected.WriteString(strings.TrimRight(lines[i], "\n") + "\n")
		}
		b.Expected = expected.String()
		blocks = append(blocks, b)
	}
	return blocks, before.String(), nil
}

// Play runs every block of a script with a Runner of its own. It returns the file with what came out in place of what
// was expected, and the lines of the blocks in which that differs.
func Play(text string) (played string, differ []int, err error) {
	blocks, rest, err := Parse(text)
	if err != nil {
		return "", nil, err
	}
	r := New()
	var out strings.Builder
	for _, b := range blocks {
		got := r.Block(b.Commands)
		if got != b.Expected {
			differ = append(differ, b.Line)
		}
		out.WriteString(b.Before + strings.Join(b.Commands, "\n") + "\n----\n" + got)
	}
	out.WriteString(rest)
	return out.String(), differ, nil
}
