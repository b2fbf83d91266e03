package session

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/adze-dev/adze/builtin/web"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
)

// webFetch returns the options of web_fetch. An invalid entry that would allow a host is reported and ignored.
func (s *Session) webFetch() web.FetchOptions {
	w := web.FetchOptions{Proxy: http.ProxyFromEnvironment, Extract: s.Models.Extract, Save: s.long.named}
	for _, e := range s.Settings.Web.AllowPrivateHosts {
		if err := web.CheckPrivateHost(e.Text); err != nil {
			s.Env.Notice(fmt.Sprintf("%s: tools.webFetch.allowPrivateHosts: an entry is ignored: %v", e.From, err))
			continue
		}
		w.AllowPrivateHosts = append(w.AllowPrivateHosts, e.Text)
	}
	return w
}

// webSearch returns the engines of web_search: those of settings, then those whose keys are in the environment. Missing
// fields of the settings are taken from the environment too, but a key is never sent to a URL from a project's
// settings, unless the key is there too.
func webSearch(env project.Env, set settings.Web) web.SearchOptions {
	w := web.SearchOptions{Default: set.DefaultProvider, Proxy: http.ProxyFromEnvironment}
	lookup := func(name string) (string, bool) {
		value := env.Getenv(name)
		return value, value != ""
	}
	known := []web.Provider{
		{Type: "tavily", APIKey: env.Getenv("TAVILY_API_KEY")},
		{Type: "google", APIKey: env.Getenv("GOOGLE_API_KEY"), SearchEngineID: env.Getenv("GOOGLE_SEARCH_ENGINE_ID")},
		{Type: "brave", APIKey: env.Getenv("BRAVE_API_KEY")},
		{Type: "searxng", BaseURL: env.Getenv("SEARXNG_URL")},
		{Type: "dashscope", APIKey: env.Getenv("DASHSCOPE_API_KEY")},
	}
	for _, p := range set.Providers {
		said := web.Provider{
			Type: p.Type, APIKey: discover.Expand(p.APIKey, lookup),
			SearchEngineID: discover.Expand(p.SearchEngineID, lookup), BaseURL: discover.Expand(p.BaseURL, lookup),
		}
		for _, k := range known {
			if strings.EqualFold(k.Type, strings.TrimSpace(p.Type)) && (p.BaseURL == "" || !p.Project) {
				said.APIKey = cmp.Or(said.APIKey, k.APIKey)
				said.SearchEngineID = cmp.Or(said.SearchEngineID, k.SearchEngineID)
				said.BaseURL = cmp.Or(said.BaseURL, k.BaseURL)
			}
		}
		w.Providers = append(w.Providers, said)
	}
	for _, p := range known {
		complete := p.APIKey != "" && (p.Type != "google" || p.SearchEngineID != "")
		if complete || p.Type == "searxng" && p.BaseURL != "" {
			w.Providers = append(w.Providers, p)
		}
	}
	return w
}
