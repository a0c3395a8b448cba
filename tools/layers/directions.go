package main

import (
	"fmt"
	"slices"
	"strings"
)

// directions returns the imports of a package that the table forbids.
func directions(p listed) []string {
	dir := top(p.ImportPath)
	r, known := rules[dir]
	if !known {
		return []string{fmt.Sprintf("%s: no rule for %q; give it a place in tools/layers/rules.go", p.ImportPath, dir)}
	}
	var offences []string
	for _, imported := range p.Imports {
		if why := forbidden(dir, r, imported, false); why != "" {
			offences = append(offences, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imported, why))
		}
	}
	for _, imported := range append(slices.Clone(p.TestImports), p.XTestImports...) {
		if why := forbidden(dir, r, imported, true); why != "" {
			offences = append(offences, fmt.Sprintf("a test of %s imports %s: %s", p.ImportPath, imported, why))
		}
	}
	return offences
}

// forbidden says why a package under dir must not import another; "" when it may.
func forbidden(dir string, r rule, imported string, test bool) string {
	switch {
	case standard(imported):
		if r.pure && !test && under(imported, impure) {
			return dir + " is pure; what needs this belongs into the sidecar"
		}
	case top(imported) != "":
		if below := top(imported); below != dir && !slices.Contains(r.internal, below) {
			if len(r.internal) == 0 {
				return dir + " imports nothing of this module"
			}
			return fmt.Sprintf("%s may import %s only", dir, strings.Join(r.internal, ", "))
		}
	default:
		for prefix, home := range onlyIn {
			if strings.HasPrefix(imported, prefix) && dir != home {
				return "only " + home + " may"
			}
		}
		if r.external != nil && !under(imported, r.external) && (!test || !under(imported, testExternal)) {
			return dir + " depends on the standard library only"
		}
	}
	return ""
}
