package main

import (
	"fmt"
	"regexp"
	"strings"
)

type row struct {
	// number is spelled S5.07 or L.02.
	number string
	// promise is what must hold, in half a sentence.
	promise string
}

type section struct {
	title string
	rows  []row
}

var rowLine = regexp.MustCompile(`^((?:S\d{1,2}|L)\.\d{2}) {2,}(\S.*)$`)

// parseRows reads rows.txt: "## " starts a section, "# " is a comment, any other line is a row.
func parseRows(text string) ([]section, error) {
	var sections []section
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		title, isTitle := strings.CutPrefix(line, "## ")
		switch {
		case isTitle:
			sections = append(sections, section{title: title})
		case line == "" || strings.HasPrefix(line, "#"):
		default:
			m := rowLine.FindStringSubmatch(line)
			if m == nil || len(sections) == 0 {
				return nil, fmt.Errorf("rows.txt:%d: not a row of a section: %q", i+1, line)
			}
			if seen[m[1]] {
				return nil, fmt.Errorf("rows.txt:%d: %s stands there twice", i+1, m[1])
			}
			seen[m[1]] = true
			s := &sections[len(sections)-1]
			s.rows = append(s.rows, row{number: m[1], promise: m[2]})
		}
	}
	return sections, nil
}
