//go:build purego || !(amd64 || arm64)

package tile

// Available returns Generic, the only tier of this processor and build.
func Available() []Tier { return []Tier{Generic} }

func operationsOf(Tier) operations { return operations{} }
