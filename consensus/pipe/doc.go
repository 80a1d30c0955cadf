// Package pipe is a consensus.Transport over streams of bytes that are already
// connected: net.Pipe between goroutines, os.Pipe between processes, sockets. It has no
// authentication and does not reconnect; it is for tests, and for processes of one
// owner on one machine.
package pipe
