package node

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// settingFile is a file as the kernel shows its setting.
func settingFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shmem_enabled")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestHugePagesFallShortUnlessAWriteGetsThem(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"always", "within_size", "force"} {
		f := hugePages(settingFile(t, strings.Replace("always within_size advise never deny force\n", good, "["+good+"]", 1)))
		require.Equal(t, Fact{Name: "huge pages", Value: good, Good: true}, f)
	}
	for _, short := range []string{"advise", "never", "deny"} {
		f := hugePages(settingFile(t, "always within_size ["+short+"] force\n"))
		require.False(t, f.Good, short)
		require.Equal(t, short, f.Value)
		require.NotEmpty(t, f.Costs)
		require.Contains(t, f.Mend, "within_size")
	}
	f := hugePages(settingFile(t, "always never\n"))
	require.False(t, f.Good)
	require.Contains(t, f.Value, "no setting in brackets")
	f = hugePages(filepath.Join(t.TempDir(), "absent"))
	require.False(t, f.Good)
	require.Contains(t, f.Mend, "CONFIG_TRANSPARENT_HUGEPAGE")
}

func TestTuneSetsHugePagesAndNothingThatIsWell(t *testing.T) {
	t.Parallel()
	path := settingFile(t, "always within_size advise [never]\n")
	changes, err := tune(path)
	require.NoError(t, err)
	require.Equal(t, []Change{{File: path, Before: "never", After: "within_size"}}, changes)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "within_size", string(text))

	path = settingFile(t, "[always] within_size advise never\n")
	changes, err = tune(path)
	require.NoError(t, err)
	require.Empty(t, changes)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "[always] within_size advise never\n", string(text))
}

func TestTuneSaysWhatItMayNotSet(t *testing.T) {
	t.Parallel()
	_, err := tune(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	path := settingFile(t, "nothing of the kind\n")
	_, err = tune(path)
	require.ErrorIs(t, err, errNoSetting)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "nothing of the kind\n", string(text))
}

func TestLookFindsEveryFactOnceAndPrintsIt(t *testing.T) {
	t.Parallel()
	r := Look(1 << 20)
	require.NotEqual(t, "unknown", r.Kernel)
	require.Positive(t, r.Cores)
	seen := map[string]bool{}
	for _, f := range r.Facts {
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		require.NotEmpty(t, f.Value, f.Name)
		require.Equal(t, f.Good, f.Costs == "" && f.Mend == "", f.Name)
	}
	require.Len(t, r.Facts, 7)
	require.NotNil(t, r.Rates)
	for _, rate := range []float64{r.Rates.Copy, r.Rates.Publish, r.Rates.Scan, r.Rates.Free} {
		require.Positive(t, rate)
	}
	var out strings.Builder
	require.NoError(t, r.Print(&out))
	for name := range seen {
		require.Contains(t, out.String(), name)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
}

func TestPrintSaysCostAndMendOfAShortfall(t *testing.T) {
	t.Parallel()
	r := Report{Kernel: "6.1", Cores: 4, Facts: []Fact{
		{Name: "pidfd", Value: "yes", Good: true},
		{Name: "memory", Value: "0.5 GiB", Costs: "few rollouts fit", Mend: "free memory"},
	}, Rates: &Rates{Bytes: 1 << 20, Copy: 10e9, Publish: 5e9, Scan: 20e9, Free: 1e9}}
	var out strings.Builder
	require.NoError(t, r.Print(&out))
	require.Equal(t, `Linux 6.1, 4 cores

  pidfd             yes
! memory            0.5 GiB
                    costs: few rollouts fit
                    mend:  free memory

One core, segments of 1 MiB, beside memcpy into warm memory (10.0 GB/s):
  publish              5.0 GB/s  0.50x
  scan                20.0 GB/s  2.00x
  free                 1.0 GB/s  0.10x
`, out.String())
	r.Facts = r.Facts[:1]
	out.Reset()
	require.NoError(t, r.Print(&out))
	require.True(t, strings.HasSuffix(out.String(), "\nNothing falls short.\n"))
	require.Error(t, r.Print(broken{}))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }
