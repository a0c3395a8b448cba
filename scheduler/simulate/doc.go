// Package simulate plays whole runs under a bad network: workers, engines, trainer ranks, evaluations, checkpoints, weight
// updates, and losses of all of them at any moment, drawn from a seed.
//
// A simulation writes a script (package script) while it goes: every event is a command line, so a seed that fails is a
// story that can be read, played again and kept. What must hold is checked by the Runner after every line: the owner's own
// recount, an account that is kept from outside, and the lineage that each trainer writes of its own weights. When the
// events are over the faults end too, and the run has to come to its end within a bounded number of steps: a state in which
// everybody waits for somebody is a failure like any other.
//
// One seed gives one run, always: there is no other randomness and no clock.
package simulate
