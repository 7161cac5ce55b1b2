#!/usr/bin/env python3
"""A random model of the write path "commit, then tell" and of the read path (invariants I1 to I5).

Users act and read through nodes, whose calls of the database, Redis and the queue are steps in random order. Nodes persist
batches directly or through the queue; processes die, pause, and lose connections; servers fail over. Checked are replies,
LIVE answers, writes to Redis, and the state at the end. A state stands for any kind: collections and follows are states
without conditional clears. A second is SECOND steps. Start reading at Node.mutate, and then at Node.query.

Without arguments it finds no violation; --table disables each rule in turn. Rules of persist, tell, queue, read, epochs:
    commit_first: nothing is told before its commit
    inbox: a batch whose id is in the inbox, from either lane, is not applied again
    inbox_results: the inbox keeps the result of each action, for the reply if the batch is repeated
    row_version: an older version never replaces a newer row
    registers: a clear names the reaction that it removes (I4a); a row keeps it for actions that arrive later but are older
    real_moves: counts are moved by what the locked rows really changed
    locked_counts: counts that do not change are read under their lock, too
    join_older: a direct action older than its row is joined, too: its id in the inbox says that it was applied
    repeat_older: and it is repeated before the reply, with a version above the row's
    entry_order: so is an action older than the viewer's entry in Redis, in both lanes
    published_unknown: an action repeated after it was published is replied QUEUED, changed null
    newer_counts: counts are told only if newer
    newer_entries: an entry is told only if newer (joined)
    create_nothing: tell creates no key, and no entry of an incomplete window
    reply_after_tell: the reply comes after tell
    lease_after_tell: tell needs a valid lease on the epoch told, checked afterwards; else Redis is told again
    close: if Redis cannot be told, the epoch is closed
    reply_waits: then the reply waits until all leases on the epoch have expired
    closed_after_commit: and until a poll that began after the commit finds the epoch closed
    told_mark: a batch is marked told only after tell
    sweep: any process tells, from the database, what stays untold for a second
    ack_after_tell: a worker acks after tell
    tell_repeated: what a redelivered message touched is told again
    queued_entry: QUEUED is replied after the viewer's entry shows the action, or after it was persisted and told
    queued_stale: answers with a queued entry are STALE
    queued_stays: Redis evicts no window with a queued entry
    queued_lookup: an entry queued for two seconds is looked up; the fill drops what the inbox has, dead letters too
    known: a queued entry where there was none is not known: it is looked up until a fill, whatever was told
    fill_keeps_queued: a queued entry outlives a fill
    drained: after the end of an epoch answers are STALE until a barrier has passed the queue, known before they are read
    barrier_waits: the barrier is published after all leases on the epoch have expired
    barrier_once: a redelivered barrier does not count
    database_stale: answers from the database are STALE while an epoch is open
    seen: counts below the version that an own entry has seen are read once past the cache
    newest: a node never answers with counts older than the newest it has seen
    window_lease: a fill of a window needs the lease taken before the database was read
    counts_lease: so does a fill of counts, instead of a version check
    fill_version: a fill carries the version of the counts in its snapshot
    complete_mark: a window that loses an entry is no longer complete
    cache_cleared: a lost connection to Redis clears the client-side cache
    poll_after_invalidations: a poll renews the lease after the invalidations before it were applied
    lease_expiry: the lease on an epoch expires
    lease_at_end: a LIVE answer from Redis needs a valid lease at its end
    open_waits: an epoch begins after all leases on the one before have expired
    new_number: it has a new number, so Redis has nothing of it
    run: an epoch belongs to one run of Redis; a process that finds another closes it
    reconnect: a connection to another server has no lease until a poll has succeeded
"""
import argparse, collections, itertools, random, re, sys
from processes import Node, Worker
from stores import READ, Counts, Database, Message, Redis

RULES = dict(re.findall(r"^    (\w+): (.*)$", __doc__, re.MULTILINE))
PROFILES = {  # rates of faults; overload: of queueing; blind: one process without database; alone: one without Redis
    "quiet": dict(mutations=0.1, evict=0.1),
    "evictions": dict(evict=3, skew=1, overload=0.4, slow=500),
    "kills": dict(kill=4, slow=500, queue=1),
    "pauses": dict(pause=1, slow=500, evict=1, overload=0.2),
    "queue": dict(queue=1, kill=0.5, overload=0.5, unknown=0.3, skew=1),
    "dead_letters": dict(poison=0.1, overload=0.6, evict=1, slow=300, kill=1),
    "redis_outages": dict(redis=1, overload=0.2, kill=1),
    "slow_polls": dict(redis=1, alone=1, poll=400, blind=0.5, mutations=0.3),
    "redis_failovers": dict(failover=1, overload=0.3, kill=1, slow=300),
    "partitions": dict(failover=1, redis=1, blind=1, overload=0.3, slow=300),
    "redeliveries": dict(failover=1, worker=1, blind=1, overload=0.6),
    "database_outages": dict(database=1, unknown=0.1, kill=1, overload=0.1, evict=1),
    "all": dict(evict=1, kill=1, pause=1, queue=1, redis=1, failover=1, database=1, unknown=.1, overload=.2, poison=.02),
}

class World:
    SECOND, LEASE, NODES = 400, 600, 3

    def __init__(self, seed, profile, off=()):
        self.seed, self.rnd, self.profile, self.off = seed, random.Random(seed), PROFILES[profile], frozenset(off)
        self.users, self.subjects, self.now, self.poison = range(2), range(2), 0, set()
        self.queue, self.queue_up, self.transactions, self.late, self.reconnects = [], True, [], [], []
        self.new_id = itertools.count(2).__next__  # the first server of Redis is run 1
        self.db, self.redis, self.replica = Database(self), Redis(self, 1), None
        self.nodes = [Node(self, n) for n in range(self.NODES)]
        self.processes = [*self.nodes, Worker(self, self.NODES)]
        self.sessions = [[u, None] for u in self.users for _ in range(4)]
        # Oracle. shown: what the user's answers include, as (action, version of counts). public: (time, version) of counts in
        # replies. waiting: (time, action) of those QUEUED. ordered: the latest versions of acknowledged and PERSISTED actions.
        self.violations, self.tally, self.acknowledged = [], collections.Counter(), []
        self.shown, self.waiting = collections.defaultdict(list), collections.defaultdict(list)
        self.public, self.ordered = {s: [(0, 0)] for s in self.subjects}, collections.defaultdict(lambda: (0, 0))

    def enabled(self, rule): return rule not in self.off
    def report(self, kind, *what): self.violations.append((kind, self.now) + what)
    def expired(self, row): return self.now - row.closed_at >= self.LEASE  # all leases on a closed epoch
    def soon(self): return self.now + self.rnd.choice((0, 0, 0, 0, 20, 100, self.profile.get("slow", 0)))

    def publish(self, message):
        """Returns whether the queue has confirmed the message. It may have it all the same."""
        confirmed = self.queue_up and not (self.profile.get("queue") and self.rnd.random() < 0.1)
        if confirmed or self.rnd.random() < 0.3: self.queue.append(Message(message.id, message.actions, message.barrier))
        return confirmed

    def acknowledge(self, r, how, after=0, epoch=None, version=0):
        """after: the version behind which the action belongs. epoch: in which it is shown with neither lease nor database."""
        a, key, r.reply = r.action, (r.user, r.subject), how
        self.tally[how] += 1
        self.acknowledged.append(a)
        if a.state == READ: return
        if a.version < after: self.report("order of one user's actions", a, after)
        self.ordered[key] = tuple(map(max, self.ordered[key], (a.version, a.version if how == "PERSISTED" else 0)))
        if epoch and epoch[:3] != self.db.epoch[:3]: return self.tally.update(["blind"])
        if how == "QUEUED": self.waiting[key].append((self.now, a))
        self.shown[key].append((a, version))

    def persisted(self, node, r, row, c, after):
        """A reply of the direct lane: its state, `changed` and counts are exact."""
        truth = [self.db.truth[a] for a in r.attempts if a in self.db.truth]
        if not truth or r.changed != any(changed for changed, _ in truth): self.report("changed", r.action, r.changed, truth)
        exact = self.db.history[r.subject].get(c.version) == c and row.version >= r.action.version
        if not exact or truth and c.version < truth[-1][1]: self.report("counts or state of a reply", r.action, row, c, truth)
        self.acknowledge(r, "PERSISTED", after, version=c.version)
        self.public[r.subject].append((self.now, c.version))
        node.replied[r.subject] = max(node.replied.get(r.subject, 0), c.version)

    def queued(self, until, keys):
        """Of what was replied QUEUED until then, what is neither persisted nor a dead letter."""
        waiting = (x for key in keys for x in self.waiting[key])
        return [a for at, a in waiting if at <= until and a not in self.db.truth and a not in self.db.dead]

    def needs(self, node, u, asked):
        """What an answer that is asked for now must include: what is shown, what the node replied, others' counts."""
        public = {s: max(v for at, v in self.public[s] if at <= self.now - self.LEASE or not v) for s in asked}
        return {s: (self.now, self.shown[u, s][:], node.replied.get(s, 0), public[s]) for s in asked}

    def answered(self, node, u, answer, need, kind):
        """An answer: subject -> (Entry, Counts). kind: LIVE, STALE, or OWN: STALE, but what is still queued is shown."""
        self.tally[kind] += 1
        for s, (x, c) in answer.items() if kind != "STALE" else ():
            began, shown, replied, others = need[s]
            own = self.queued(began, [(u, s)]) if kind == "OWN" else [a for a, _ in shown if a not in self.db.dead]
            state = max((a.version for a in own), default=0)
            if x.register.version < state: self.report("own state", u, s, x, state, kind)
            if kind == "OWN": continue
            if x.register not in self.db.versions[u, s]: self.report("uncommitted state", u, s, x)
            if self.db.history[s].get(c.version) != c: self.report("uncommitted counts", s, c)
            counts = max((version for _, version in shown), default=0)
            for what, least in ("own counts", counts), ("backwards", replied), ("outdated counts", others):
                if c.version < least: self.report(what, u, s, x, c, least)
            node.replied[s] = max(node.replied.get(s, 0), c.version)

    def run(self, steps=8000):
        for _ in range(steps):
            self.step()
            if self.rnd.random() < 0.08: self.user_step()
            if self.rnd.random() < 0.02: self.inject_fault()
        self.quiesce()
        return self.violations

    def step(self):
        rnd, x, self.now = self.rnd, self.rnd.random(), self.now + 1
        if self.reconnects and self.reconnects[0][0] <= self.now: self.reconnects.pop(0)[1].disconnect("redis", 0, self.redis)
        if x < 0.25 and self.transactions:
            tx = rnd.choice(self.transactions)
            if next(tx, self) is self: self.transactions.remove(tx)
        elif 0.25 <= x < 0.26 and self.late: self.late.pop(rnd.randrange(len(self.late)))()
        else: rnd.choice(self.processes).step()

    def user_step(self):
        burst, mutations = self.rnd.random() < 0.06, self.profile.get("mutations", 0.4)
        for session in self.sessions if burst else [self.rnd.choice(self.sessions)]:
            if session[1] is None or session[1].gi_frame is None:
                node = self.rnd.choice(self.nodes[:2] if burst else self.nodes)
                session[1] = (node.mutate if burst or self.rnd.random() < mutations else node.query)(session[0])
                node.spawn(session[1])

    def inject_fault(self):
        rnd, second, one = self.rnd, self.SECOND, self.rnd.choice(self.processes)
        happens = lambda fault, rate: self.profile.get(fault) and rnd.random() < rate * self.profile[fault]
        if happens("evict", 0.5): self.redis.evict(rnd)
        if happens("kill", 0.1): one.kill()
        if happens("worker", 0.3): self.processes[-1].kill(self.now + rnd.choice((0, second, 2 * second)))
        if happens("pause", 0.1): one.paused_until = self.now + rnd.choice((20, 100, second, 3 * second, 6 * second))
        if happens("queue", 0.05): self.queue_up = not self.queue_up
        for what in "redis", "database":
            if happens(what, 0.05):
                until = self.now + rnd.choice((10, second, 4 * second))
                all_of = self.processes if rnd.random() < 0.4 and not self.profile.get("alone") else [one]
                for p in all_of: p.disconnect(what, until)
        if happens("blind", 0.3): one.disconnect("database", self.now + rnd.choice((second // 2, second)))
        if happens("database", 0.03): self.db.fail_over()
        if happens("failover", 0.2): self.replica = Redis(self, 0, self.redis)  # it lags from now on
        if happens("failover", 0.03):
            self.redis = self.replica if self.replica and rnd.random() < 0.6 else Redis(self, 0)
            self.redis.run, self.replica = self.new_id(), None
            self.reconnects = sorted(((self.now + rnd.randrange(second), p) for p in self.processes), key=lambda x: x[0])

    def quiesce(self):
        kill, self.profile = self.profile.get("kill"), {}
        self.queue_up, self.reconnects = True, []
        for p in self.processes:
            if kill and self.rnd.random() < 0.5: p.kill()  # nothing that comes later hides what it leaves
            p.down_until, p.paused_until = dict.fromkeys(p.down_until, 0), 0
            p.disconnect("redis", 0, self.redis)
        until = self.now + 100000
        while self.now < until and not self.idle(): self.step()
        if self.now == until: return self.report("does not quiesce", len(self.queue), self.db.epoch)
        for _ in range(6):
            before, asked = self.tally["LIVE"], [(n, n.query(u)) for n in self.nodes for u in self.users for _ in range(4)]
            for node, query in asked: node.spawn(query)
            while any(query.gi_frame for _, query in asked): self.step()
            if self.tally["LIVE"] - before == len(asked): return self.compare()
            for _ in range(self.SECOND): self.step()
        self.report("final: answers stay STALE")

    def idle(self):
        busy = self.queue or self.transactions or self.late or any(s[1] and s[1].gi_frame for s in self.sessions)
        valid = all(p.lease_valid(self.db.epoch.number) and p.row.drained for p in self.processes)
        return not busy and valid and self.db.epoch.open and all(b.told for b in self.db.inbox.values())

    def compare(self):
        db, e = self.db, self.db.epoch.number
        for a in self.acknowledged:
            row, applied = db.row(a.user, a.subject), a in db.truth or a in db.dead
            if not applied or a in db.truth and a.state != READ and row.after(self, a) != row: self.report("final: lost", a)
        if max(db.read_ids.values(), default=0) > 1: self.report("final: read counted twice")
        for s in self.subjects:
            states = [db.row(u, s).state for u in self.users]
            reads = sum(subject == s for subject, _ in db.read_ids)
            c = Counts(db.counts[s].version, states.count(1), states.count(2), reads)
            told = self.redis.counts.get((e, s), [None])[0] or c
            if db.counts[s] != c or told != c: self.report("final: counts", s, c, db.counts[s], told)
            for u in self.users:
                row, window, expected = db.row(u, s), self.redis.windows.get((e, u)), 0
                for _, state in sorted(db.applied[u, s]):
                    expected = state if state >= 0 else 0 if expected == -state else expected
                if row.state != expected: self.report("final: state", u, s, row, expected, sorted(db.applied[u, s])[-4:])
                x = window and window.entries.get(s)
                if x and x.known and not x.queued and x.register != row: self.report("final: entry", u, s, x, row)

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="seeds of each profile")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--profile", choices=PROFILES, action="append", help="this profile only")
    parser.add_argument("--table", action="store_true", help="disable each rule in turn")
    parser.add_argument("rules", nargs="*", choices=[*RULES, []], metavar="RULE", help="to disable, or to test with --table")
    args, bad = parser.parse_args(), 0
    seeds, profiles = range(args.first, args.first + args.runs), args.profile or PROFILES
    for rule in (args.rules or RULES) if args.table else ():
        runs = ((seed, profile, World(seed, profile, [rule]).run()) for seed, profile in itertools.product(seeds, profiles))
        found = next((f"after {n:4} runs, {run[1]}: {run[2][0][0]}" for n, run in enumerate(runs, 1) if run[2]), None)
        print(f"{rule:24} {found or 'NOT NEEDED, OR NOT SEEN':60} {RULES[rule]}", flush=True)
        bad += not found
    for profile in () if args.table else profiles:
        worlds = [World(seed, profile, args.rules) for seed in seeds]
        found = [(world.seed, violation) for world in worlds for violation in world.run()[:1]]
        tally = sum((world.tally for world in worlds), collections.Counter())
        print(f"{profile:16}", dict(sorted(tally.items())), f"{len(found)} violations", *found[:1], flush=True)
        bad += len(found)
    sys.exit(bad > 0)

if __name__ == "__main__": main()
