package session

import (
	"context"
	"fmt"
	"time"
)

// Choice is what the user decides before a command continues. Nothing happens unless an option is chosen.
type Choice struct {
	Title   string
	Detail  []string // lines about it
	View    string   // more about it, which may be long; "": nothing
	Options []Option // the first one is the default, and safe
}

// Option is a possible answer to a choice.
type Option struct {
	Key         string // a letter that chooses it; "": it is in a list
	Text, About string
	Run         func(context.Context) (Expansion, error) // nil: nothing happens
}

// Age is how long ago something was, roughly.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
