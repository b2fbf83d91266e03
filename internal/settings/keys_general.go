package settings

import (
	"math"
	"strconv"
)

// General is what Adze keeps of sessions.
type General struct {
	ChatRecording     bool
	CleanupPeriodDays int   // after which sessions are deleted; 0 or less: never
	MaxStateBytes     int64 // of Adze's directory, above which the oldest sessions are deleted; 0 or less: no limit
}

// generalKeys are settings about the user's state. A project can't change what is kept of the user's work.
func generalKeys() []key {
	return []key{
		{
			name: "general.chatRecording", own: true, preset: "true", shape: booleanShape,
			about: "Record sessions, so that they can be resumed.",
			put:   boolean(func(s *Settings) *bool { return &s.General.ChatRecording }),
		},
		{
			name: "general.cleanupPeriodDays", own: true, preset: "30", shape: integerShape,
			about: "Delete sessions that weren't used for this many days; 0: never.",
			put:   integer(func(s *Settings) *int { return &s.General.CleanupPeriodDays }),
		},
		{
			name: "general.maxStateBytes", own: true, preset: "2147483648", shape: integerShape,
			about: "Delete the oldest sessions while Adze's directory is larger than this; 0: no limit.",
			put:   wide(func(s *Settings) *int64 { return &s.General.MaxStateBytes }),
		},
	}
}

// defaultGeneral keeps sessions for 30 days, and at most 2 GB.
func defaultGeneral() General {
	return General{ChatRecording: true, CleanupPeriodDays: 30, MaxStateBytes: 2 << 30}
}

// wide is an integer that can be larger than 32 bits.
func wide(at func(*Settings) *int64) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		said := string(g.json())
		if g.file == nil {
			said = g.text
		}
		n, err := strconv.ParseFloat(said, 64)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return "", mustBe("a whole number", g)
		}
		*at(s) = int64(n)
		return "", nil
	}
}
