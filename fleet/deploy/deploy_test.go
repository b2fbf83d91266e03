package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// objects reads all manifests. A field that Kubernetes doesn't know, or that is there twice, is an error.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme, batch.AddToScheme, autoscaling.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	var all []runtime.Object
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(raw), "\n---\n") {
			object, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Errorf("%s, object %d: %v", file, i+1, err)
				continue
			}
			all = append(all, object)
		}
	}
	return all
}

// pods returns the pods that the manifests make, by the kind that makes them.
func pods(t *testing.T) map[string]core.PodSpec {
	t.Helper()
	out := map[string]core.PodSpec{}
	for _, object := range objects(t) {
		switch o := object.(type) {
		case *apps.StatefulSet:
			out["StatefulSet"] = o.Spec.Template.Spec
			for _, claim := range o.Spec.VolumeClaimTemplates {
				spec := out["StatefulSet"]
				spec.Volumes = append(spec.Volumes, core.Volume{Name: claim.Name})
				out["StatefulSet"] = spec
			}
		case *apps.Deployment:
			out["Deployment"] = o.Spec.Template.Spec
		case *batch.Job:
			out["Job"] = o.Spec.Template.Spec
		}
	}
	return out
}

// All manifests decode strictly, and every mount has its volume.
func TestManifests(t *testing.T) {
	all := pods(t)
	for _, kind := range []string{"StatefulSet", "Deployment", "Job"} {
		spec, ok := all[kind]
		if !ok {
			t.Errorf("no %s", kind)
		}
		for _, c := range spec.Containers {
			for _, m := range c.VolumeMounts {
				if !slices.ContainsFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
					t.Errorf("%s: no volume %s", kind, m.Name)
				}
			}
		}
	}
	for _, object := range objects(t) {
		if s, ok := object.(*apps.StatefulSet); ok && *s.Spec.Replicas != 3 {
			t.Errorf("%d servers", *s.Spec.Replicas)
		}
	}
}

// Workers use TLS and credentials, with files that are mounted, and check that the servers sync every write.
func TestWorkersUseTLS(t *testing.T) {
	for kind, spec := range pods(t) {
		if kind == "StatefulSet" {
			continue
		}
		c := spec.Containers[0]
		for flag, want := range map[string]string{"--server": "tls://", "--creds": "/creds/", "--ca": "/tls/", "--monitor": "http://"} {
			if !slices.ContainsFunc(c.Command, func(word string) bool { return strings.HasPrefix(word, flag+"="+want) }) {
				t.Errorf("%s: %s is missing in %q", kind, flag, c.Command)
				continue
			}
			if strings.HasPrefix(want, "/") && !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath+"/" == want }) {
				t.Errorf("%s: nothing is mounted at %s", kind, want)
			}
		}
	}
}

// The configuration of the servers is valid, and syncs every write.
func TestServerConfiguration(t *testing.T) {
	t.Setenv("POD_NAME", "nats-0")
	for _, object := range objects(t) {
		m, ok := object.(*core.ConfigMap)
		if !ok {
			continue
		}
		text, included := strings.CutSuffix(strings.TrimSpace(m.Data["nats.conf"]), "include /auth/auth.conf")
		if !included {
			t.Error("the accounts are not included")
		}
		c, err := conf.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		stream, _ := c["jetstream"].(map[string]any)
		if stream["sync_interval"] != "always" {
			t.Errorf("jetstream is %v", stream)
		}
		if c["http"] != "0.0.0.0:8222" {
			t.Errorf("the monitoring port is %v, which workers don't ask", c["http"])
		}
	}
}
