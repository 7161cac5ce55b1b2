package main

import (
	"bufio"
	"io"
	"net"
	"regexp"
	"strconv"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// watermarks selects the number of partitions that have passed the latest barrier, or -1
// if there has been no barrier.
const watermarks = `SELECT CASE WHEN m.barrier = 0 THEN -1 ELSE (SELECT count(*) FROM watermark w WHERE w.barrier >= m.barrier) END FROM mirror m`

// queryAsAlice returns a video as the API shows it to alice.
func (s *server) queryAsAlice(t *testing.T, video string) reply {
	t.Helper()
	var got struct{ Interactive reply }
	must.Succeed(t, s.graphQL("alice", `{ interactive(biz: "video", bizId: "`+video+`") { `+shown+` } }`, &got))
	return got.Interactive
}

// mutateAsAlice sends the given mutation ("like" or "unlike") on a video as alice. It
// returns the action's durability, and the video as the reply shows it.
func (s *server) mutateAsAlice(t *testing.T, mutation, video string) (durability string, shows reply) {
	t.Helper()
	var got struct {
		Did struct {
			Durability  string
			Interactive reply
		}
	}
	must.Succeed(t, s.graphQL("alice", `mutation { did: `+mutation+`(input: {biz: "video", bizId: "`+video+`"}) { durability interactive { `+shown+` } } }`, &got))
	return got.Did.Durability, got.Did.Interactive
}

// TestAnswersAreLiveOnceWorkersHavePassedTheBarrier makes Redis lose all data, once by
// FLUSHALL and once by a kill. It checks that answers are LIVE again once every partition
// has passed the barrier.
func TestAnswersAreLiveOnceWorkersHavePassedTheBarrier(t *testing.T) {
	t.Parallel()
	s, redis := siteOnOwnRedis(t)
	node := s.start(t, "serve")
	s.start(t, "work")
	if _, got := node.mutateAsAlice(t, "like", "1"); got.Liked == nil {
		t.Errorf("after the first like Alice is shown %+v, want it liked", got)
	}
	await.That(t, "replies are LIVE initially", func() bool { return node.queryAsAlice(t, "1").Freshness == "LIVE" })
	for round, lose := range []func(){
		func() { redis.flush(t) },
		func() { redis.kill(); redis.start(t) },
	} {
		before := s.queryInt(t, `SELECT barrier FROM mirror`)
		lose()
		await.That(t, "the next epoch begins", func() bool { return s.queryInt(t, `SELECT barrier FROM mirror`) > before })
		await.That(t, "answers are LIVE", func() bool {
			got := node.queryAsAlice(t, "1")
			if got.Freshness != "LIVE" {
				return false
			}
			if got.Liked == nil || got.LikeCount != 1 {
				t.Errorf("after loss %d Alice is shown %+v, want her like, counted once", round, got)
			}
			return s.queryInt(t, watermarks) == 4
		})
	}
}

// TestUnlikeOfALikeLostByRedisWins queues a like while no worker runs, and makes Redis
// lose the like. A later unlike must still be published, and must win.
func TestUnlikeOfALikeLostByRedisWins(t *testing.T) {
	t.Parallel()
	s, redis := siteOnOwnRedis(t)
	node := s.start(t, "serve")
	// If RabbitMQ confirms too late, an action is persisted directly. Each try therefore has
	// another video, until both actions are QUEUED.
	number, video := 0, ""
	await.That(t, "a lost like and a later unlike are QUEUED", func() bool {
		number++
		video = strconv.Itoa(number)
		durability, got := node.mutateAsAlice(t, "like", video)
		if got.Liked == nil {
			t.Errorf("like = %s, %+v, want liked", durability, got)
		}
		if durability != "QUEUED" {
			return false
		}
		before := s.queryInt(t, `SELECT barrier FROM mirror`)
		redis.flush(t)
		await.That(t, "the next epoch begins", func() bool { return s.queryInt(t, `SELECT barrier FROM mirror`) > before })
		await.That(t, "the node no longer shows the like", func() bool { return node.queryAsAlice(t, video).Liked == nil })
		if passed := s.queryInt(t, watermarks); passed != 0 {
			t.Errorf("without a worker, %d partitions have passed the barrier, want 0", passed)
		}
		if got := node.queryAsAlice(t, video); got.Freshness != "STALE" {
			t.Errorf("after the like is lost Alice is shown %+v, want STALE", got)
		}
		if got := node.metric(t, "ovation_mirror_in_doubt_since_timestamp_seconds"); got == 0 {
			t.Error("ovation_mirror_in_doubt_since_timestamp_seconds = 0 although Redis lost a like, want a time")
		}
		durability, _ = node.mutateAsAlice(t, "unlike", video)
		return durability == "QUEUED"
	})
	s.start(t, "work")
	await.That(t, "answers are LIVE", func() bool { return node.queryAsAlice(t, video).Freshness == "LIVE" })
	if passed := s.queryInt(t, watermarks); passed != 4 {
		t.Errorf("%d partitions have passed the barrier, want 4", passed)
	}
	if got := node.queryAsAlice(t, video); got.Liked != nil || got.LikeCount != 0 {
		t.Errorf("in the end Alice is shown %+v, want no like, a count of 0", got)
	}
	if got := node.metric(t, "ovation_mirror_in_doubt_since_timestamp_seconds"); got != 0 {
		t.Errorf("ovation_mirror_in_doubt_since_timestamp_seconds = %v once answers are LIVE, want 0", got)
	}
	s.run(t, "verify").want(t, 0, "0 differences in Redis; ")
}

// flush empties Redis.
func (r *ownRedis) flush(t *testing.T) {
	t.Helper()
	c, err := net.Dial("tcp", r.at)
	must.Succeed(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "FLUSHALL\r\n")
	must.Succeed(t, err)
	if said, err := bufio.NewReader(c).ReadString('\n'); err != nil || said != "+OK\r\n" {
		t.Fatalf("FLUSHALL = %q, %v, want +OK", said, err)
	}
}

// metric returns the value of a gauge without labels.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	_, _, text := get(t, s.url+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("/metrics does not expose %s", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	must.Succeed(t, err)
	return value
}
