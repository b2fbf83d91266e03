package permission

import "time"

// Patient is the world with a long time limit: on a busy machine, with the race detector, any decision can take a second.
func (w World) Patient() World {
	w.patience = 5 * time.Minute
	return w
}
