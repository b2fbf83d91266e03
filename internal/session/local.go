package session

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai"
)

// localAddresses are where model servers on this machine listen by default, in order of preference: Ollama, llama.cpp, LM
// Studio.
const localAddresses = "http://127.0.0.1:11434/v1,http://127.0.0.1:8080/v1,http://127.0.0.1:1234/v1"

// localWait is how long a server at a default address may take to list its models; namedWait, one that
// ADZE_LOCAL_MODELS names. Where nothing listens, connecting fails immediately.
const (
	localWait = 500 * time.Millisecond
	namedWait = 30 * time.Second
)

// localServer is a model server on this machine.
type localServer struct {
	address string
	models  []api.Info
}

// localServers looks for model servers on this machine that have a model. ADZE_LOCAL_MODELS names other addresses, or "off".
func localServers(ctx context.Context, env Env) []localServer {
	addresses, wait := env.Getenv("ADZE_LOCAL_MODELS"), namedWait
	switch addresses {
	case "off":
		return nil
	case "":
		addresses, wait = localAddresses, localWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	list := strings.Split(addresses, ",")
	models := make([]chan []api.Info, len(list))
	for i, a := range list {
		models[i] = make(chan []api.Info, 1)
		go func() { models[i] <- askLocal(ctx, a) }()
	}
	var found []localServer
	for i, a := range list { // all have answered in the end: nothing is left running
		if infos := <-models[i]; len(infos) > 0 {
			found = append(found, localServer{a, infos})
		}
	}
	return found
}

// askLocal lists the models of a server on this machine. Another machine is never asked: OPENAI_BASE_URL names one.
func askLocal(ctx context.Context, address string) []api.Info {
	u, err := url.Parse(address)
	if err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		return nil
	}
	m, err := openai.Open(ctx, api.Options{BaseURL: address, Model: "any", Retry: api.Retry{Times: -1}})
	if err != nil {
		return nil
	}
	defer m.Close()
	list, err := m.Models(ctx)
	if err != nil {
		return nil
	}
	return list
}
