package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// wall are the ways to what a clock on the wall says. A time.Time that is only subtracted from another of the same process is not
// among them: it carries the monotonic clock.
var wall = map[string]bool{
	"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "Date": true, "Format": true, "AppendFormat": true,
	"UTC": true, "Local": true,
	"CLOCK_REALTIME": true, "Gettimeofday": true,
}

// wallClock returns where a file reads the wall clock. src replaces the file's content when it is not nil.
func wallClock(path string, src any) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var offences []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && wall[sel.Sel.Name] {
			at := files.Position(sel.Pos())
			offences = append(offences, fmt.Sprintf("%s:%d: %s is of the wall clock, which jumps; subtract times of one process", at.Filename, at.Line, sel.Sel.Name))
		}
		return true
	})
	return offences, nil
}
