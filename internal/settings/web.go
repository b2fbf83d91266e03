package settings

import "encoding/json"

// Web is how the web is reached.
type Web struct {
	AllowPrivateHosts []Entry // hosts on this machine or its network that may be fetched from
	Providers         []SearchProvider
	DefaultProvider   string
}

// SearchProvider is a search engine, as Qwen Code writes it.
type SearchProvider struct {
	Type           string `json:"type"`
	APIKey         string `json:"apiKey"`
	SearchEngineID string `json:"searchEngineId"`
	BaseURL        string `json:"baseUrl"`
	Project        bool   `json:"-"` // a file of the directory says so
}

func webKeys() []key {
	return []key{
		{
			name: "tools.webFetch.allowPrivateHosts", own: true, shape: listShape, adds: true,
			about: "Hosts on this machine or its network that web_fetch may contact.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Web.AllowPrivateHosts }),
		},
		{
			name: "webSearch.provider", shape: `{"type":"array","items":{"type":"object"}}`,
			about: "Search engines, each with type, apiKey, searchEngineId and baseUrl.", put: putProviders,
		},
		{
			name: "webSearch.default", shape: stringShape,
			about: "Type of the search engine that web_search uses first.",
			put:   text(func(s *Settings) *string { return &s.Web.DefaultProvider }),
		},
	}
}

// putProviders takes the list of search engines; a later file's replaces it.
func putProviders(s *Settings, g given) (note string, err error) {
	var list []SearchProvider
	if json.Unmarshal(g.json(), &list) != nil {
		return "", mustBe("a list of objects with type, apiKey, searchEngineId and baseUrl", g)
	}
	for i := range list {
		list[i].Project = g.project
	}
	s.Web.Providers = list
	return "", nil
}
