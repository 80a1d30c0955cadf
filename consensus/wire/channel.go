package wire

import "fmt"

// A Channel says what a frame is part of: the averaging of a stream of messages, or a
// collective operation. The numbers are part of the format of frames and must not change:
// a new channel gets a number that none has had.
type Channel uint8

// The channels of streams are below 64, those of collective operations above.
const (
	StreamExact    Channel = 0
	StreamBasis    Channel = 1
	StreamGradient Channel = 2
	StreamTracker  Channel = 3

	Sum       Channel = 64
	Broadcast Channel = 66
	Mean      Channel = 67
	Keys      Channel = 71
	Count     Channel = 72
	Gather    Channel = 73
)

var channelNames = map[Channel]string{
	StreamExact:    "stream exact",
	StreamBasis:    "stream basis",
	StreamGradient: "stream gradient",
	StreamTracker:  "stream tracker",

	Sum:       "a sum over the nodes",
	Broadcast: "a broadcast",
	Mean:      "the mean over the nodes",
	Keys:      "an exchange of keys",
	Count:     "a count of the nodes",
	Gather:    "an exchange of bytes",
}

// String returns what the channel is for, in words.
func (c Channel) String() string {
	if name, ok := channelNames[c]; ok {
		return name
	}
	return fmt.Sprintf("channel %d", uint8(c))
}
