package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// environ returns the environment of a child: the worker's without credentials, with the variables of the task. It returns the
// values to mask, too.
func (w *Worker) environ(vars map[string]string) (env []string, secrets [][]byte, err error) {
	own := map[string]string{}
	for _, kv := range w.o.Environ {
		name, value, _ := strings.Cut(kv, "=")
		own[name] = value
		if !proc.Credential(name) && !strings.HasPrefix(name, "NATS_") && !strings.HasPrefix(name, "OTEL_") && !hasPassword(kv) {
			env = append(env, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		if secret, ok := strings.CutPrefix(value, "secret:"); ok {
			if !slices.Contains(w.o.Secrets, secret) {
				return nil, nil, fmt.Errorf("the task asks for the secret %s, which this worker doesn't give\nAllow it with --secrets %s on the worker.", secret, secret)
			}
			if value = own[secret]; value == "" {
				return nil, nil, fmt.Errorf("the secret %s is not set on the worker %s", secret, w.o.Name)
			}
			secrets = append(secrets, spellings(value)...)
		}
		env = append(env, name+"="+value)
	}
	return env, secrets, nil
}

// hasPassword reports whether a variable is a URL with a password.
func hasPassword(kv string) bool { return proc.SecretVariable(kv) }

// spellings returns the forms of a secret in texts and in JSON.
func spellings(value string) [][]byte {
	out := [][]byte{[]byte(value)}
	if quoted, err := json.Marshal(value); err == nil {
		if inner := string(quoted[1 : len(quoted)-1]); inner != value {
			out = append(out, []byte(inner))
		}
	}
	return out
}

// sessionID returns the ID of a task's session: always the same.
func sessionID(run, task string) string {
	sum := sha256.Sum256([]byte(run + "\n" + task))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// container returns the command line that runs the child in the task's image, and a function that removes the container.
func (a *attempt) container() (argv []string, remove func(), err error) {
	engine := a.w.o.Container
	if engine == "" {
		for _, name := range []string{"docker", "podman"} {
			if _, err := exec.LookPath(name); err == nil {
				engine = name
				break
			}
		}
	}
	program, err := exec.LookPath(a.w.o.Program[0])
	if err != nil {
		return nil, nil, err
	}
	name := "adze-" + random.Text()[:12]
	switch {
	case engine == "":
		return nil, nil, broken("the task has the image %s, and neither docker nor podman is installed\nInstall one, or set --container.", a.item.Task.Image)
	case strings.Contains(engine, "{"):
		r := strings.NewReplacer("{name}", name, "{image}", a.item.Task.Image, "{dir}", a.space.Dir, "{program}", program)
		for _, word := range strings.Fields(engine) {
			argv = append(argv, r.Replace(word))
		}
		return append(argv, a.w.o.Program[1:]...), func() {}, nil
	}
	argv = []string{
		engine, "run", "--rm", "--interactive", "--name", name, "--network", "host", "--volume", program + ":/adze-fleet:ro",
		"--volume", a.space.Dir + ":" + a.space.Dir, "--workdir", a.space.Dir, "--env", "HOME=/tmp",
	}
	for _, name := range slices.Sorted(maps.Keys(a.item.Task.Env)) {
		argv = append(argv, "--env", name)
	}
	argv = append(argv, "--entrypoint", "/adze-fleet", "--", a.item.Task.Image)
	return append(argv, a.w.o.Program[1:]...), func() { _ = exec.Command(engine, "rm", "--force", name).Run() }, nil
}
