package cli

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/adze-dev/adze/fleet/internal/worker"
)

// metrics serves numbers for Prometheus.
func metrics(w *worker.Worker, name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4")
		describe(out, "adze_fleet_tasks_running", "gauge", "Tasks that this worker runs.")
		fmt.Fprintf(out, "adze_fleet_tasks_running{worker=%q} %d\n", name, w.Busy())
		describe(out, "adze_fleet_tasks_total", "counter", "Tasks that this worker ended, by state.")
		ended := w.Ended()
		for _, state := range slices.Sorted(maps.Keys(ended)) {
			fmt.Fprintf(out, "adze_fleet_tasks_total{worker=%q,state=%q} %d\n", name, state, ended[state])
		}
		spent := w.Spent()
		describe(out, "adze_fleet_model_requests_total", "counter", "Model requests of this worker's tasks.")
		fmt.Fprintf(out, "adze_fleet_model_requests_total{worker=%q} %d\n", name, spent.Requests)
		describe(out, "adze_fleet_tokens_total", "counter", "Tokens of these requests.")
		fmt.Fprintf(out, "adze_fleet_tokens_total{worker=%q,kind=\"input\"} %d\n", name, spent.Input)
		fmt.Fprintf(out, "adze_fleet_tokens_total{worker=%q,kind=\"output\"} %d\n", name, spent.Output)
		describe(out, "adze_fleet_cost_dollars_total", "counter", "Cost of these requests in US dollars.")
		fmt.Fprintf(out, "adze_fleet_cost_dollars_total{worker=%q} %g\n", name, spent.Cost)
	})
	return mux
}

func describe(w io.Writer, name, kind, about string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, about, name, kind)
}
