package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// object is one task, or the defaults, as the file has it.
type object struct {
	line   int
	fields map[string]field
}

type field struct {
	line  int
	value json.RawMessage
}

// reader collects tasks and errors.
type reader struct {
	dir      string // of the file: relative repositories begin there
	defaults *object
	objects  []object
	problems []Problem
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...)})
}

// Read reads a file of tasks: JSON Lines, or YAML if its name ends with .yaml or .yml.
func Read(path string) (File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return File{}, err
	}
	r := &reader{dir: dir}
	ext := filepath.Ext(path)
	switch {
	case !utf8.Valid(content):
		line := 1 + bytes.Count(content[:invalid(content)], []byte("\n"))
		r.problem(line, "not valid UTF-8")
	case ext == ".yaml" || ext == ".yml":
		r.yaml(content)
	default:
		r.lines(content)
	}
	tasks := r.tasks()
	if len(r.problems) == 0 && len(tasks) == 0 {
		r.problem(1, "the file has no tasks")
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return File{}, &Error{Path: path, Problems: r.problems}
	}
	base := strings.TrimSuffix(filepath.Base(path), ext)
	return File{Run: name(base, content), Tasks: tasks}, nil
}

// invalid returns the offset of the first byte that isn't UTF-8.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// lines reads JSON Lines.
func (r *reader) lines(content []byte) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	for i, line := range bytes.Split(content, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		o := object{i + 1, map[string]field{}}
		if err := decodeObject(line, &o); err != nil {
			r.problem(o.line, "%v", err)
			continue
		}
		r.add(o)
	}
}

// decodeObject reads the fields of a JSON object. A duplicate key is an error.
func decodeObject(line []byte, o *object) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		if err == nil {
			err = errors.New("expected {")
		}
		return fmt.Errorf("not a JSON object: %w", tidy(err))
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("invalid JSON: %w", tidy(err))
		}
		key := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("invalid JSON in %q: %w", key, tidy(err))
		}
		if _, twice := o.fields[key]; twice {
			return fmt.Errorf("the key %q is there twice", key)
		}
		o.fields[key] = field{o.line, value}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("invalid JSON: %w", tidy(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("invalid JSON: text after the object")
	}
	return nil
}

// tidy explains an unexpected end of input.
func tidy(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line ends too early")
	}
	return err
}

// add adds an object of JSON Lines: it is the defaults if it is the first and has only these.
func (r *reader) add(o object) {
	d, ok := o.fields["defaults"]
	if !ok {
		r.objects = append(r.objects, o)
		return
	}
	switch {
	case len(o.fields) > 1:
		r.problem(o.line, "defaults must be alone in their line")
	case r.defaults != nil:
		r.problem(o.line, "there are defaults in line %d already", r.defaults.line)
	case len(r.objects) > 0:
		r.problem(o.line, "defaults must be in the first line")
	default:
		r.defaults = &object{o.line, map[string]field{}}
		if err := decodeObject(d.value, r.defaults); err != nil {
			r.problem(o.line, "defaults: %v", err)
		}
	}
}

// yaml reads a list of tasks, or {defaults, tasks}.
func (r *reader) yaml(content []byte) {
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		line := 1
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
		r.problem(line, "invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	if root.Kind == yaml.SequenceNode {
		r.yamlTasks(root)
		return
	}
	top, ok := r.yamlObject(root)
	if !ok {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		switch key.Value {
		case "defaults":
			if o, ok := r.yamlObject(value); ok {
				r.defaults = &o
			}
		case "tasks":
			r.yamlTasks(value)
		default:
			r.problem(top.fields[key.Value].line, "unknown key %q; expected defaults or tasks", key.Value)
		}
	}
}

func (r *reader) yamlTasks(list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		r.problem(list.Line, "tasks must be a list")
		return
	}
	for _, n := range list.Content {
		if o, ok := r.yamlObject(n); ok {
			r.objects = append(r.objects, o)
		}
	}
}

func (r *reader) yamlObject(n *yaml.Node) (object, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, "expected a mapping of keys to values")
		return object{}, false
	}
	o := object{n.Line, map[string]field{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		var value any
		err := n.Content[i+1].Decode(&value)
		var raw []byte
		if err == nil {
			raw, err = json.Marshal(value)
		}
		if err != nil {
			r.problem(key.Line, "%s: %v", key.Value, err)
			continue
		}
		if _, twice := o.fields[key.Value]; twice {
			r.problem(key.Line, "the key %q is there twice", key.Value)
		}
		o.fields[key.Value] = field{key.Line, raw}
	}
	return o, true
}

// tasks makes tasks of the objects, with the defaults.
func (r *reader) tasks() []Task {
	base := Task{}
	if r.defaults != nil {
		if f, ok := r.defaults.fields["id"]; ok {
			r.problem(f.line, "defaults can't have an id")
		}
		base = r.task(Task{}, *r.defaults)
	}
	var out []Task
	seen, tokens := map[string]int{}, map[string]int{}
	for _, o := range r.objects {
		start := base
		start.Env = maps.Clone(base.Env)
		t := r.task(start, o)
		t.Line = o.line
		switch first, twice := seen[t.ID]; {
		case t.ID == "":
			if _, given := o.fields["id"]; !given {
				r.problem(o.line, "the task has no id")
			}
		case twice:
			r.problem(o.line, "the id %q is that of line %d already", t.ID, first)
		case tokens[strings.ToLower(Token(t.ID))] > 0:
			r.problem(o.line, "the id %q differs only in case from that of line %d", t.ID, tokens[strings.ToLower(Token(t.ID))])
		default:
			seen[t.ID], tokens[strings.ToLower(Token(t.ID))] = o.line, o.line
		}
		if _, given := o.fields["prompt"]; t.Prompt == "" && !given {
			r.problem(o.line, "the task has no prompt")
		}
		out = append(out, t)
	}
	return out
}
