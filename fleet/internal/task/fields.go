package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// keys are the keys of a task.
var keys = []string{"id", "repo", "ref", "prompt", "model", "image", "setup", "checks", "limits", "env"}

// task adds the fields of an object to a task.
func (r *reader) task(t Task, o object) Task {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		f := o.fields[key]
		var err error
		switch key {
		case "id":
			err = text(f.value, &t.ID)
		case "repo":
			if err = text(f.value, &t.Repo); err == nil {
				t.Repo = r.repo(t.Repo)
			}
		case "ref":
			if err = text(f.value, &t.Ref); err == nil && strings.HasPrefix(t.Ref, "-") {
				err = fmt.Errorf("must not begin with -")
			}
		case "prompt":
			err = text(f.value, &t.Prompt)
		case "model":
			err = text(f.value, &t.Model)
		case "image":
			if err = text(f.value, &t.Image); err == nil && strings.HasPrefix(t.Image, "-") {
				err = fmt.Errorf("must not begin with -")
			}
		case "setup":
			t.Setup, err = commands(f.value)
		case "checks":
			t.Checks, err = commands(f.value)
		case "limits":
			err = r.limits(f, &t.Limits)
		case "env":
			t.Env, err = environment(t.Env, f.value)
		default:
			r.problem(f.line, "unknown key %q; %s", key, suggest(key, keys))
		}
		if err != nil {
			r.problem(f.line, "%s %v", key, err)
		}
	}
	return t
}

func suggest(key string, known []string) string {
	for _, k := range known {
		if _, typo := nearest.Typo(key, k); typo {
			return fmt.Sprintf("did you mean %q?", k)
		}
	}
	return "expected one of: " + strings.Join(known, ", ")
}

// repo makes a path absolute. URLs are unchanged.
func (r *reader) repo(name string) string {
	if strings.Contains(name, "://") || filepath.IsAbs(name) {
		return name
	}
	path := filepath.Join(r.dir, name)
	if _, err := os.Stat(path); err != nil && strings.Contains(name, ":") {
		return name // host:path
	}
	return path
}

func text(raw json.RawMessage, to *string) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
		return fmt.Errorf("must be a text, got %s", short(raw))
	}
	if s == "" {
		return fmt.Errorf("must not be empty")
	}
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("must not contain a zero byte")
	}
	*to = s
	return nil
}

// commands reads a command or a list of them.
func commands(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}, nil
	}
	var all []string
	if err := json.Unmarshal(raw, &all); err != nil || slices.Contains(all, "") {
		return nil, fmt.Errorf("must be a command or a list of commands, got %s", short(raw))
	}
	return all, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func environment(base map[string]string, raw json.RawMessage) (map[string]string, error) {
	var all map[string]string
	if err := json.Unmarshal(raw, &all); err != nil {
		return base, fmt.Errorf("must be an object of texts, got %s", short(raw))
	}
	out := map[string]string{}
	maps.Copy(out, base)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !variableName.MatchString(name) {
			return base, fmt.Errorf("has the invalid variable name %q", name)
		}
		out[name] = all[name]
	}
	return out, nil
}

// limits adds limits. Each error is reported by itself.
func (r *reader) limits(f field, to *Limits) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(f.value, &all); err != nil || all == nil {
		return fmt.Errorf("must be an object with turns, wall and cost, got %s", short(f.value))
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		raw := all[key]
		switch key {
		case "turns":
			if n, ok := number(raw); !ok || n < 1 || n != math.Trunc(n) || n > 1e9 {
				r.problem(f.line, "limits.turns must be a whole number above 0, got %s", short(raw))
			} else {
				to.Turns = int(n)
			}
		case "wall":
			d, err := wall(raw)
			if err != nil {
				r.problem(f.line, "limits.wall %v", err)
			}
			to.Wall = d
		case "cost":
			if n, ok := number(raw); !ok || n <= 0 {
				r.problem(f.line, "limits.cost must be US dollars above 0, got %s", short(raw))
			} else {
				to.Cost = n
			}
		default:
			r.problem(f.line, "unknown key %q in limits; %s", key, suggest(key, []string{"turns", "wall", "cost"}))
		}
	}
	return nil
}

func number(raw json.RawMessage) (float64, bool) {
	var n *float64
	if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// wall reads a time: "30m", or seconds.
func wall(raw json.RawMessage) (time.Duration, error) {
	if n, ok := number(raw); ok && n > 0 && n < 1e8 {
		return time.Duration(n * float64(time.Second)), nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if d, err := time.ParseDuration(s); err == nil && d > 0 {
			return d, nil
		}
	}
	return 0, fmt.Errorf("must be a time such as \"30m\" or seconds above 0, got %s", short(raw))
}

func short(raw json.RawMessage) string {
	return humanize.Cut(string(raw), 40)
}
