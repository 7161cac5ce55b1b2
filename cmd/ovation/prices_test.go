//go:build long && !race

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/prices"
)

// maxPriceRatio is the most by which the CPU times per unit of two operations may differ.
const maxPriceRatio = 4

// TestFigurePricesFollowTheCost measures the CPU time of operations, and divides it by
// their prices. It asserts ratios alone, so that it does not depend on the machine's
// speed.
func TestFigurePricesFollowTheCost(t *testing.T) {
	units, err := prices.Documented("../..")
	must.Succeed(t, err)
	data := emptyData(t)
	s := serveBinary(t, data, "--rate-per-user=0", "--rate-per-address=0", "--messages-per-user=0", "--attempts-per-address=0", "--no-access-log")
	tokens := make([]string, prices.Users+1) // the last is that of a back end
	byName := map[string]prices.Operation{}
	for _, of := range prices.Operations {
		byName[of.Name] = of
	}
	for i := range prices.Users {
		var out struct{ Register struct{ Token string } }
		must.Succeed(t, s.post(requestOf(t, byName["`register`"].Query, map[string]any{"in": map[string]any{"name": fmt.Sprint("user ", i), "password": prices.Password}}), nil, &out))
		tokens[i] = out.Register.Token
	}
	site := call(t, environment(), "token", "--user=site", "--scope=actions:write", "--data="+data)
	site.want(t, 0)
	tokens[prices.Users] = strings.TrimSpace(site.stdout)
	const prepared = 2000
	for _, name := range []string{"`like`", "`addComment`"} { // for the lists
		s.perform(t, byName[name], tokens, 0, prepared)
	}
	least, most := "", ""
	perUnit := map[string]float64{}
	for _, of := range prices.Operations {
		n := 3000
		if units[of.Name] > 1000 {
			n = prices.Users // each user changes the password once
		}
		before := s.metric(t, "process_cpu_seconds_total")
		s.perform(t, of, tokens, prepared, n)
		took := (s.metric(t, "process_cpu_seconds_total") - before) * 1e6 / float64(n)
		perUnit[of.Name] = took / float64(units[of.Name])
		t.Logf("%-50s %6.0f µs, %6d units: %.2f µs per unit", of.Name, took, units[of.Name], perUnit[of.Name])
		if least == "" || perUnit[of.Name] < perUnit[least] {
			least = of.Name
		}
		if most == "" || perUnit[of.Name] > perUnit[most] {
			most = of.Name
		}
	}
	if perUnit[most] > maxPriceRatio*perUnit[least] {
		t.Errorf("%s takes %.2f µs per unit and %s %.2f, want a ratio of at most %d", most, perUnit[most], least, perUnit[least], maxPriceRatio)
	}
}

func requestOf(t *testing.T, query string, variables map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	must.Succeed(t, err)
	return body
}

// perform sends n requests of an operation from four connections, beginning with the
// given one.
func (s *server) perform(t *testing.T, of prices.Operation, tokens []string, from, n int) {
	t.Helper()
	var next atomic.Int64
	next.Store(int64(from))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < from+n; i = int(next.Add(1)) - 1 {
				headers := map[string]string{}
				switch of.By {
				case prices.SignedIn:
					headers = dev(fmt.Sprint("user ", i%prices.Users))
				case prices.Account:
					headers = bearer(tokens[i%prices.Users])
				case prices.BackEnd:
					headers = bearer(tokens[prices.Users])
				case prices.Anonymous:
				}
				if err := s.post(requestOf(t, of.Query, of.Variables(i)), headers, nil); err != nil {
					t.Errorf("%s: %v", of.Name, err)
				}
			}
		})
	}
	wait.Wait()
}
