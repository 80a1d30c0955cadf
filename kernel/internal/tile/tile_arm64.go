//go:build !purego

package tile

func available() []Tier { return []Tier{Generic} }
