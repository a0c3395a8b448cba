// Command layers holds the import directions and the purity of the core.
//
//	cmd → sidecar → bridge → {scheduler → leases, arrowio}
//
// A package may import what stands below it in the table of rules.go, and nothing beside or above. leases and scheduler
// are pure besides: no goroutine, channel, clock, randomness, lock or I/O, and no package that brings one. Test files of
// a package keep its directions, but may use what they like of the standard library.
//
// It prints nothing and exits 0 when every package keeps to the table; otherwise each offence is one line with its place.
package main
