package approval

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// limits are what a form demands of a typed answer. A server's own check comes after ours and may know more.
type limits struct {
	Format    string
	MinLength *float64
	MaxLength *float64
	Minimum   *float64
	Maximum   *float64
	MinItems  *float64
	MaxItems  *float64
}

// text checks a text.
func (l limits) text(s string) error {
	n := float64(utf8.RuneCountInString(s))
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return fmt.Errorf("Use at least %g characters", *l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return fmt.Errorf("Use at most %g characters", *l.MaxLength)
	}
	switch l.Format {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return fmt.Errorf("Enter an email address, e.g. me@example.com")
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			return fmt.Errorf("Enter a URL, e.g. https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return fmt.Errorf("Enter a date, e.g. 2006-01-02")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err != nil {
			return fmt.Errorf("Enter a date and time, e.g. 2006-01-02T15:04:05Z")
		}
	}
	return nil
}

// number checks a number.
func (l limits) number(n float64) error {
	switch {
	case l.Minimum != nil && n < *l.Minimum:
		return fmt.Errorf("Enter %g or more", *l.Minimum)
	case l.Maximum != nil && n > *l.Maximum:
		return fmt.Errorf("Enter %g or less", *l.Maximum)
	}
	return nil
}

// count checks how many were chosen.
func (l limits) count(n int) error {
	switch {
	case l.MinItems != nil && float64(n) < *l.MinItems:
		return fmt.Errorf("Choose at least %g", *l.MinItems)
	case l.MaxItems != nil && float64(n) > *l.MaxItems:
		return fmt.Errorf("Choose at most %g", *l.MaxItems)
	}
	return nil
}
