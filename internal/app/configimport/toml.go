package configimport

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads a TOML text into maps, lists, texts, numbers and booleans. It uses the library's parser: its decoder
// would make the program 0.2 MB larger.
func readTOML(raw []byte) (object, error) {
	all := object{}
	at := all
	var p unstable.Parser
	p.Reset(raw)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			set(at, e)
			continue
		}
		within, last := descend(all, e)
		switch e.Kind {
		case unstable.Table:
			at = child(within, last)
		case unstable.ArrayTable:
			at = object{}
			list, _ := within[last].([]any)
			within[last] = append(list, at)
		}
	}
	return all, p.Error()
}

// descend returns the object that has the last part of an expression's key, and that part.
func descend(all object, e *unstable.Node) (within object, last string) {
	keys := e.Key()
	keys.Next()
	for within = all; !keys.IsLast(); keys.Next() {
		within = child(within, string(keys.Node().Data))
	}
	return within, string(keys.Node().Data)
}

// child returns the object under a key, the last one of a list, or a new one.
func child(all object, key string) object {
	value := all[key]
	if list, _ := value.([]any); len(list) > 0 {
		value = list[len(list)-1]
	}
	if found, ok := value.(object); ok {
		return found
	}
	made := object{}
	all[key] = made
	return made
}

func set(all object, e *unstable.Node) {
	within, last := descend(all, e)
	within[last] = valueOf(e.Value())
}

func valueOf(n *unstable.Node) any {
	text := string(n.Data)
	switch n.Kind {
	case unstable.Bool:
		return text == "true"
	case unstable.Integer, unstable.Float:
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			return number
		}
	case unstable.Array:
		list := []any{}
		for i := n.Children(); i.Next(); {
			list = append(list, valueOf(i.Node()))
		}
		return list
	case unstable.InlineTable:
		table := object{}
		for i := n.Children(); i.Next(); {
			set(table, i.Node())
		}
		return table
	}
	return text
}
