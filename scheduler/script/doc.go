// Package script plays stories over the scheduler: lines of commands, and what the owner answers and does.
//
// A Runner keeps one owner and the processes around it. A process is what its sidecar would be: a worker remembers its
// executions and its terminal receipts until they are released, a trainer keeps base, log and the lineage of its
// weights (which groups each rollout put into them). That is enough to restart an owner from what the others hold.
//
// Like the scheduler it is pure, so the same script gives the same text for ever. docs/scripts.md lists the commands.
package script
