package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/permission"
)

// destination reads the value of a flag into the field of options that it is for.
type destination func(value string) error

// yes is for a flag without a value.
func yes(to *bool) destination {
	return func(string) error {
		*to = true
		return nil
	}
}

// text is for any text, or one of flag.among. The last one counts.
func text[T ~string](to *T) destination {
	return func(v string) error {
		*to = T(v)
		return nil
	}
}

// texts is for a flag that may be repeated.
func texts(to *[]string) destination {
	return func(v string) error {
		*to = append(*to, v)
		return nil
	}
}

// list is for lists that are separated by commas, of a flag that may be repeated.
func list(to *[]string) destination {
	return func(v string) error {
		all := append([]string{}, *to...) // not nil: an empty list is one, too
		*to = append(all, elements(v)...)
		return nil
	}
}

// elements returns the elements of a list that is separated by commas. Commas in parentheses belong to a rule.
func elements(v string) []string {
	var all []string
	add := func(e string) {
		if e = strings.TrimSpace(e); e != "" {
			all = append(all, e)
		}
	}
	depth, start := 0, 0
	for i, r := range v {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case r == ',' && depth == 0:
			add(v[start:i])
			start = i + 1
		}
	}
	add(v[start:])
	return all
}

// days is for a number of days above 0.
func days(to *int) destination {
	return func(v string) error {
		n, err := strconv.Atoi(strings.TrimSuffix(v, "d"))
		if err != nil || n < 1 {
			return fmt.Errorf("expected a number of days such as 90d, got %q", v)
		}
		*to = n
		return nil
	}
}

// limit is for a number above 0; -1 is no limit.
func limit(to *int) destination {
	return func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 && n != -1 {
			return fmt.Errorf("expected a number above 0, or -1 for no limit, got %q", v)
		}
		*to = n
		return nil
	}
}

// duration is for a time. A number without a unit is seconds; -1 is no limit.
func duration(to *time.Duration) destination {
	return func(v string) error {
		d, err := time.ParseDuration(v)
		if n, plain := strconv.ParseFloat(v, 64); plain == nil && n < 1e9 {
			d, err = time.Duration(n*float64(time.Second)), nil
		}
		if err != nil || d <= 0 && v != "-1" {
			return fmt.Errorf("expected a time such as 90s or 10m, got %q", v)
		}
		*to = d
		return nil
	}
}

// mode is for an approval mode. It also accepts Qwen Code's mode auto, in which a model decides.
func mode(o *options) destination {
	return func(v string) error {
		if v == "auto" {
			v = string(permission.AutoEdit)
			o.notes = append(o.notes, "--approval-mode auto is not supported; using auto-edit, the nearest "+
				"stricter mode")
		}
		m, err := permission.ParseMode(v)
		o.mode = m
		return err
	}
}

// recordingSetting is for general.chatRecording, as Qwen Code has it: true without a value.
func recordingSetting(o *options) destination {
	return func(v string) error {
		o.record.setting = cmp.Or(v, "true")
		if o.record.setting != "true" && o.record.setting != "false" {
			return fmt.Errorf("expected true or false, got %q", v)
		}
		return nil
	}
}
