package kernel

// UseBackend lets steps of workspaces that are made from now on compute by a backend. It returns a
// function that puts the former one back.
func UseBackend(name string) (restore func(), err error) {
	b, n := chosen, chosenName
	chosen, chosenName, err = choose(name)
	return func() { chosen, chosenName = b, n }, err
}
