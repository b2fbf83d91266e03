package permission

import "time"

// Patient gives judgements all the time they need: on a busy machine, with the race detector, any may take 50 ms.
func (w World) Patient() World {
	w.patience = time.Minute
	return w
}
