package session

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/openai"
)

// localServers are where model servers listen on the machine itself by default, in the order they are preferred:
// Ollama, llama.cpp, LM Studio.
const localServers = "http://127.0.0.1:11434/v1,http://127.0.0.1:8080/v1,http://127.0.0.1:1234/v1"

// localWait is how long a server at a default address may take to list its models; namedWait, one that
// ADZE_LOCAL_MODELS names. Where nothing listens, connecting fails immediately.
const (
	localWait = 500 * time.Millisecond
	namedWait = 30 * time.Second
)

// localModel looks for a model server on the machine itself, for a user who has configured none: its address, and its
// first model. ADZE_LOCAL_MODELS names other addresses, or "off".
func localModel(ctx context.Context, env Env) (address, name string) {
	addresses, wait := env.Getenv("ADZE_LOCAL_MODELS"), namedWait
	switch addresses {
	case "off":
		return "", ""
	case "":
		addresses, wait = localServers, localWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	list := strings.Split(addresses, ",")
	names := make([]chan string, len(list))
	for i, a := range list {
		names[i] = make(chan string, 1)
		go func() { names[i] <- askLocal(ctx, a) }()
	}
	for i := range list { // all have answered in the end: nothing is left running
		if first := <-names[i]; name == "" && first != "" {
			address, name = list[i], first
		}
	}
	return address, name
}

// askLocal is the first model of a server on this machine, or nothing. Another machine is never asked: who means one
// names it in OPENAI_BASE_URL.
func askLocal(ctx context.Context, address string) string {
	u, err := url.Parse(address)
	if err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		return ""
	}
	m, err := openai.Open(ctx, openai.Options{BaseURL: address, Retry: openai.Retry{Times: -1}})
	if err != nil {
		return ""
	}
	defer m.Close()
	return m.Name()
}
