// Command approval is an agent whose questions are answered in a web page on loopback. It prints the page's address:
//
//	go run ./examples/approval        the model is a recording, which writes note.txt
package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

const recording = `{"call":{"id":"1","name":"write_file","args":{"file_path":"note.txt","content":"hello\n"}}}` + "\n" +
	`{"end":"calls"}` + "\n" + `{"text":"That is all."}` + "\n" + `{"end":"stop"}`

var view = template.Must(template.New("").Parse(`<!DOCTYPE html><title>Approval</title>{{with .Open}}<pre>{{.Text}}</pre>
<form method="post"><input type="hidden" name="token" value="{{$.Token}}"><input type="hidden" name="id" value="{{.ID}}">
<button name="verdict" value="allow">Allow</button> <button name="verdict" value="deny">Deny</button></form>{{else}}No question.{{end}}`))

// page shows the open question. Only a form that it served itself answers it: the token is secret.
type page struct {
	host, token string
	open        atomic.Pointer[question] // nil: none
}

type question struct {
	ID, Text string
	answer   chan tool.Verdict
}

// ask is called for one question at a time.
func (p *page) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	q := &question{rand.Text(), adze.Question(r, why), make(chan tool.Verdict, 1)}
	p.open.Store(q)
	defer p.open.Store(nil)
	select {
	case verdict := <-q.answer:
		return tool.Decision{Verdict: verdict}, nil
	case <-ctx.Done():
		return tool.Decision{}, ctx.Err()
	}
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, token := p.open.Load(), []byte(r.FormValue("token"))
	here := r.Host == p.host && (r.Method == "GET" || r.Header.Get("Origin") == "http://"+p.host)
	if !here || subtle.ConstantTimeCompare(token, []byte(p.token)) != 1 {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPost && q != nil && r.PostFormValue("id") == q.ID && p.open.CompareAndSwap(q, nil) {
		q.answer <- map[string]tool.Verdict{"allow": tool.Allow}[r.PostFormValue("verdict")] // anything else denies
	}
	_ = view.Execute(w, map[string]any{"Open": p.open.Load(), "Token": p.token})
}

func main() {
	adze.Main() // before anything else
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("approval: ", err)
	}
	p := &page{host: l.Addr().String(), token: rand.Text()}
	go http.Serve(l, p)
	fmt.Printf("Answer at http://%s/?token=%s\n", p.host, p.token)
	if err := run(context.Background(), ".", p); err != nil {
		log.Fatal("approval: ", err)
	}
}

func run(ctx context.Context, dir string, p *page) error {
	m, err := replay.Read(strings.NewReader(recording), "example", replay.Options{})
	if err != nil {
		return err
	}
	a, err := adze.New(adze.Dir(dir), adze.UseModel(m), adze.Ask(p.ask))
	if err != nil {
		return err
	}
	defer a.Close()
	for _, err = range a.Run(ctx, "Write a note.") { // the last error, if there is one, ends it
	}
	return err
}
