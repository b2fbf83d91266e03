package queue

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
)

// asServer makes the test binary a server with its data in a directory.
const asServer = "ADZE_FLEET_TEST_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asServer); dir != "" {
		e, err := Serve(dir, "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(e.URL)
		select {}
	}
	os.Exit(m.Run())
}

// process starts a server as a process, and returns when it is ready.
func process(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), asServer+"="+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the server doesn't start: %v", err)
	}
	return c
}

// The only server is killed with -9 again and again while entries are appended: none is lost, none is there twice, all are in
// order. ADZE_SOAK=1: 100 kills during 4,000 appends.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	kills := soak.Count(4, 100)
	appends := kills * 40
	dir := t.TempDir()
	server := process(t, dir)
	a := readAddress(dir)
	q, err := Connect(t.Context(), Options{URL: a.URL, Token: a.Token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	l, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	appended := make(chan int, appends)
	go func() {
		defer close(appended)
		for i := range appends {
			if err := l.Append(t.Context(), entry(int64(i+1)), ""); err != nil {
				t.Error(err)
				return
			}
			appended <- i
		}
	}()
	killed := 0
	for i := range appended {
		if killed < kills && i >= killed*40+20 { // the next append is on its way
			killed++
			if err := server.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait()
			server = process(t, dir)
		}
	}
	again, err := q.OpenLog(t.Context(), "r", "t")
	if err != nil || len(again.Entries) != appends {
		t.Fatalf("%v: %d entries, want %d", err, len(again.Entries), appends)
	}
	for i, e := range again.Entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d is %d", i, e.Seq)
		}
	}
	t.Logf("%d kills during %d appends in %v: none lost, none twice, in order", killed, appends, time.Since(began).Round(time.Millisecond))
}
