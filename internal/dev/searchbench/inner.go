package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/adze-dev/adze/internal/engine/search"
)

// query is one row, with the tools' parameters.
type query struct {
	Name      string `json:"-"`
	Tool      string `json:"-"` // grep_search, glob, or list for all files by path
	Pattern   string `json:"pattern,omitempty"`
	Path      string `json:"path,omitempty"`
	Case      string `json:"case,omitempty"`
	Multiline bool   `json:"multiline,omitempty"`
	Limit     int    `json:"limit,omitempty"`
}

// inner runs a query in its own process and prints like ripgrep.
func inner(text string) int {
	var call struct {
		Tool string
		Args query
	}
	err := json.Unmarshal([]byte(text), &call)
	if err == nil {
		call.Args.Tool = call.Tool
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		if err = call.Args.answer(out); err == nil {
			err = out.Flush()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func (q *query) answer(out io.Writer) error {
	scope := search.Scope{Paths: []string{q.Path}}
	if q.Tool != "grep_search" {
		req := search.FilesRequest{Scope: scope, Pattern: q.Pattern, Limit: q.Limit}
		if q.Tool == "list" {
			req.Order = search.ByPath
		}
		res, err := search.Files(context.Background(), req)
		if err != nil {
			return err
		}
		for _, f := range res.Files {
			io.WriteString(out, f.Path)
			io.WriteString(out, "\n")
		}
		return nil
	}
	cases := map[string]search.Case{"": search.Smart, "sensitive": search.Sensitive, "insensitive": search.Insensitive}
	p, err := search.Compile(search.Query{Pattern: q.Pattern, Case: cases[q.Case], Multiline: q.Multiline})
	if err != nil {
		return err
	}
	res, err := search.Grep(context.Background(), search.GrepRequest{Scope: scope, Pattern: p, Limit: q.Limit})
	if err != nil {
		return err
	}
	var line []byte
	for _, f := range res.Files {
		line = append(append(line[:0], f.Path...), '\n')
		for _, l := range f.Lines {
			line = append(append(append(strconv.AppendInt(line, int64(l.Number), 10), ':'), l.Text...), '\n')
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
