package simulation

// purpose says what a stream of random numbers is for.
type purpose uint64

const (
	forGraph purpose = iota + 1
	forData
	forStart
	forJitter
	_ // of earlier versions: the seeds of the others stay as they were
	forLinks
)

// derive returns the seed for one purpose of one trial. Trials and purposes have
// unrelated streams, so that adding trials, methods or workers changes none.
func derive(seed uint64, trial int, p purpose) uint64 {
	return mix(mix(mix(seed)^uint64(trial)) ^ uint64(p))
}

// mix is the output function of SplitMix64: a bijection without visible structure
// between neighbouring inputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
