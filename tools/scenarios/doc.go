// Command scenarios keeps docs/scenarios.md, the table from each promise to the tests that hold it.
//
// A promise is a row of rows.txt, numbered like S5.07 or L.02. A test carries the numbers of its rows in its name:
// TestS5_07_… in Go, test_S5_07_… in Python, s5_07_….txt for a script under a testdata directory.
//
//	scenarios         exits 1 when a row has no test, a test has no row, or the table is out of date
//	scenarios -write  writes the table
package main
