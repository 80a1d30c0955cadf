package wire

// Traffic counts communication.
type Traffic struct {
	Rounds   int64 // exchanges that had to wait for one another
	Messages int64 // directed: one node to one neighbour
	Bytes    int64 // of all frames, with their headers, also of Silent
	Silent   int64 // messages of a header only, since there was too little news
	Lost     int64 // of Messages, those that had to be sent again; see Meter
}

// Minus returns what t counts beyond u, an earlier count.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Rounds - u.Rounds, t.Messages - u.Messages, t.Bytes - u.Bytes, t.Silent - u.Silent, t.Lost - u.Lost}
}

// Plus returns the sum of two counts.
func (t Traffic) Plus(u Traffic) Traffic {
	return Traffic{t.Rounds + u.Rounds, t.Messages + u.Messages, t.Bytes + u.Bytes, t.Silent + u.Silent, t.Lost + u.Lost}
}
