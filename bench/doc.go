// Command bench measures Ovation and writes a report: every row of "What it must
// reach", next to the floor, the least that answers the same requests (package
// ovation/bench/floor), on this machine, in one run.
//
// It starts one API node, one worker and both processes of the floor, on
// Postgres, Redis and RabbitMQ of the environment, with tables, keys and queues
// of its own, which it removes in the end. It imports CI&T Deskdrop where that
// lies beside the checkout, else data of the same skew that it draws itself,
// and gives the floor the same.
//
// # What makes it trustworthy
//
//   - The floor knows nothing of Ovation's: what the protocol itself costs is not
//     hidden by a reference that does the same.
//   - Ovation and the floor take turns, A B, B A, A B …, and a ratio is that
//     of one such pair: what else the machine does hits both.
//   - Any connection asks for any viewer.
//   - Everything is asked once before it is measured: caches are warm on both
//     sides.
//   - Latency is measured from when a request was due (package load).
//   - Replies are checked while they are measured. A page is compared with what
//     Postgres holds: to the byte while nothing changes, and while likes go on
//     by what its viewer was told and by how many were sent. A like must say what a
//     first like says. One wrong reply fails the run. Where wrk is installed it asks
//     for the same pages, too, and the report tells both rates.
//   - After each load what was acknowledged must be in Postgres, and nothing that
//     was not sent. In the end ovation verify must find no difference.
//   - The report says what the load itself took of the machine, and what
//     everything else did.
//   - A seed draws who asks for what and when. What it draws is the same each
//     time; how much of it is asked depends on how fast the replies come.
//
// # Growth
//
// bench growth measures what a page and a like cost as Postgres holds more and
// more, and what Redis holds for each that is active. For each size it makes an
// installation of its own and fills the tables with SQL; ovation verify must
// find no difference before anything is measured and after. "The first time"
// means a new node over an empty Redis, and that no two pages have a viewer or a
// subject in common. Replies are checked as above, and what is weighed in Redis
// is counted there key by key. TestAFilledWorldIsRightAndSkewed,
// TestPagesOfAWorldHaveNothingInCommon and their neighbours hold the data to that.
//
// The parts: main.go runs, plan.go says how long, site.go has the processes,
// floor.go has what the floor holds, data.go, truth.go, people.go know what is in the database, page.go and like.go
// make and judge requests, compare.go lets two sides take turns, rows*.go are
// the rows, usage.go and report.go tell. growth.go runs bench growth, of which
// growth_world.go is what is in the database, growth_load.go asks and likes,
// growth_redis.go weighs and growth_report.go tells.
package main
