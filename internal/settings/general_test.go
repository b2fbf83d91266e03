package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneral(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		want                General
	}{
		{"nothing said", `{}`, `{}`, General{true, 30, 2 << 30}},
		{"the user's own", `{"general":{"chatRecording":false,"cleanupPeriodDays":7,"maxStateBytes":1e10}}`, `{}`, General{false, 7, 1e10}},
		{"a project can't", `{}`, `{"general":{"chatRecording":false,"cleanupPeriodDays":1,"maxStateBytes":1}}`, General{true, 30, 2 << 30}},
	} {
		s, err := loadModel(t, "", c.user, c.project)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, s.General); diff != "" {
			t.Error(c.name, diff)
		}
	}
	for _, bad := range []string{`{"general":{"maxStateBytes":1.5}}`, `{"general":{"chatRecording":"no"}}`, `{"general":{"cleanupPeriodDays":"x"}}`} {
		if _, err := loadModel(t, "", bad, ""); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
