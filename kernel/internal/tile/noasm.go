//go:build purego || !(amd64 || arm64)

package tile

func available() []Tier { return []Tier{Generic} }
