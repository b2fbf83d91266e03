package models

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/gemini"
)

// vertexName is the name of Vertex AI, as in other programs.
const vertexName = "vertex-ai"

// azure returns the address of a deployment of Azure OpenAI: with a version of the API the older one, otherwise that of
// version 1. A URL with a path is used as it is.
func azure(v variables, o api.Options) (api.Options, error) {
	o.KeyHeader = "api-key"
	u, err := url.Parse(strings.TrimRight(cmp.Or(o.BaseURL, v.get("AZURE_OPENAI_ENDPOINT")), "/"))
	version := v.first([]string{"AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"}).value
	switch {
	case err != nil || u.Host == "":
		return o, errorf("no Azure OpenAI server is set\n" +
			"Set AZURE_OPENAI_ENDPOINT, such as https://NAME.openai.azure.com.")
	case o.Model == "":
		return o, errorf("no deployment is selected\nUse --model NAME, or set AZURE_OPENAI_DEPLOYMENT.")
	case u.Path != "":
	case version == "" || version == "v1":
		u.Path = "/openai/v1"
	default:
		u = u.JoinPath("openai", "deployments", o.Model)
		u.RawQuery = url.Values{"api-version": {version}}.Encode()
	}
	o.BaseURL = u.String()
	return o, nil
}

// vertex returns the address of a project of Vertex AI, and its login: the application default credentials.
func vertex(v variables, o api.Options) (api.Options, error) {
	dir := filepath.Join(v.home, ".config", "gcloud")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(v.getenv("APPDATA"), "gcloud")
	}
	o.KeyName = cmp.Or(v.get("GOOGLE_APPLICATION_CREDENTIALS"),
		filepath.Join(cmp.Or(v.getenv("CLOUDSDK_CONFIG"), dir), "application_default_credentials.json"))
	text, err := os.ReadFile(o.KeyName)
	if err != nil {
		return o, errorf("no Google credentials: %v\nRun 'gcloud auth application-default login', or set "+
			"GOOGLE_APPLICATION_CREDENTIALS.", err)
	}
	return gemini.Vertex(o, text, v.get("GOOGLE_CLOUD_PROJECT"), v.get("GOOGLE_CLOUD_LOCATION"))
}

// usesVertex reports whether the user chose Vertex AI in place of the Gemini API.
func (c chooser) usesVertex() bool {
	on := strings.ToLower(c.vars.get("GOOGLE_GENAI_USE_VERTEXAI"))
	return c.settings.AuthType == vertexName || on == "true" || on == "1"
}
