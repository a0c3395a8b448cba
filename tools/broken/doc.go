// Command broken takes one guard of the core, or of the sidecar, away at a time, and shows which story, test or seed goes red for it.
// A guard whose removal nothing notices is a missing test; it fails the run, as does a change that finds its code no more.
//
// The tree stays as it is: each change is laid over one file for runs of go test (-overlay). Only the packages that can notice are
// tested, until the first goes red: some ten seconds a guard, half an hour for all, so it is no part of make test.
//
//	go run ./tools/broken                 all guards
//	go run ./tools/broken -only staleness  those whose name has the word
package main
