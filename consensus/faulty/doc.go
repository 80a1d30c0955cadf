// Package faulty has transports that fail on purpose, to test and to measure with.
//
// Connect joins processes, as package pipe does, by links that lose, delay, duplicate and
// corrupt what is sent, and mends that by sending again: results have the same bits as
// over links without faults. FailOnce lets one exchange fail, as when a process is cancelled or a
// connection breaks. NewMeter is for simulations with all nodes in one process: it
// carries nothing and counts what sending again would have cost.
package faulty
