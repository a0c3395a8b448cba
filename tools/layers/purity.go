package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// impurities returns what a file of a pure package does that a pure one may not: it starts a goroutine, has a channel,
// or asks the machine's clock. src replaces the file's content when it is not nil.
func impurities(path string, src any) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var offences []string
	found := func(n ast.Node, what string) {
		at := files.Position(n.Pos())
		offences = append(offences, fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, what))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n, "a goroutine in a pure package")
		case *ast.ChanType:
			found(n, "a channel in a pure package")
		case *ast.SelectStmt:
			found(n, "a select in a pure package")
		case *ast.ImportSpec:
			// Under another name the clock could not be seen below.
			if n.Path.Value == `"time"` && n.Name != nil {
				found(n, "time imported under another name in a pure package")
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && clock[n.Sel.Name] {
				found(n, "time."+n.Sel.Name+" in a pure package; the time comes with the event")
			}
		}
		return true
	})
	return offences, nil
}
