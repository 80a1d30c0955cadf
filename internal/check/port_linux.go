package check

import "syscall"

// reserve gives this program a free port of a loopback address until release: others get it neither by
// listening at port 0 nor for a connection. A socket is bound to it that does not listen, so that this
// program may listen there, stop, and listen again; in between, the system refuses connections.
func reserve(host string) (port int, release func(), err error) {
	family, loopback := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if host == "::1" {
		family, loopback = syscall.AF_INET6, &syscall.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	release = func() { _ = syscall.Close(fd) }
	var bound syscall.Sockaddr
	if err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(fd, loopback)
	}
	if err == nil {
		bound, err = syscall.Getsockname(fd)
	}
	switch at := bound.(type) {
	case *syscall.SockaddrInet4:
		port = at.Port
	case *syscall.SockaddrInet6:
		port = at.Port
	}
	if err != nil {
		release()
	}
	return port, release, err
}
