package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is what `go list -json` says of one package.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func main() {
	offences, err := check("./...")
	if err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(2)
	}
	for _, o := range offences {
		fmt.Fprintln(os.Stderr, "layers:", o)
	}
	if len(offences) > 0 {
		os.Exit(1)
	}
}

// check lists the packages that the pattern names and returns their offences, in the order of packages and files.
func check(pattern string) ([]string, error) {
	packages, err := list(pattern)
	if err != nil {
		return nil, err
	}
	var offences []string
	for _, p := range packages {
		offences = append(offences, directions(p)...)
		looks := []func(string, any) ([]string, error){wallClock}
		if rules[top(p.ImportPath)].pure {
			looks = append(looks, impurities)
		}
		for _, name := range p.GoFiles {
			for _, look := range looks {
				found, err := look(filepath.Join(p.Dir, name), nil)
				if err != nil {
					return nil, err
				}
				offences = append(offences, found...)
			}
		}
	}
	return offences, nil
}

func list(pattern string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", pattern)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", pattern, err, stderr.Bytes())
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", pattern, err)
		}
		packages = append(packages, p)
	}
}
