// Command bench measures Ovation against its targets and writes a report. Next to each
// figure is that of the floor (bench/floor), a minimal server that answers the same
// requests on the same machine in the same run.
//
// It starts one API node, one worker and both processes of the floor, on the Postgres,
// Redis and RabbitMQ of the environment. Tables, keys and queues are its own and are
// removed at the end. If the CI&T Deskdrop data is next to the checkout, bench imports
// it; otherwise it generates data of the same skew. The floor gets the same data.
//
// # Why the figures can be trusted
//
//   - The floor shares no format with Ovation, so that the cost of Ovation's protocol
//     is not hidden by a reference that pays it, too.
//   - Ovation and the floor alternate (A B, B A, A B …), and a ratio is taken within
//     such a pair: other load on the machine affects both.
//   - Each connection asks for random viewers.
//   - Every page is requested once before it is measured: caches are warm on both
//     sides.
//   - Latency is measured from the time at which a request was due (package load), so
//     that there is no coordinated omission.
//   - Replies are checked while they are measured. A page is compared with Postgres: byte
//     by byte while nothing changes; during likes, it must agree with earlier replies to its
//     viewer and with the number of likes sent. A like must return what a first like
//     returns. One wrong reply fails the run. If wrk is installed, it requests the same
//     pages, and the report has both rates.
//   - After each load, everything acknowledged must be in Postgres, and nothing that
//     was not sent. At the end, ovation verify must find no difference.
//   - The report states the CPU time of the load generator and of everything else on
//     the machine.
//   - A seed determines the requests and their order. How many of them are sent depends
//     on how fast replies arrive.
//
// # Growth
//
// bench growth measures the cost of a page and of a like as the number of rows in
// Postgres grows, and the memory of Redis for each active user and subject. For each
// size it creates a separate installation and fills the tables by SQL; ovation verify
// must find no difference before and after the measurement. In its report, "the first
// time" means a new node over an empty Redis, with no viewer or subject in more than one
// page. Replies are checked as above, and the memory of Redis is counted key by key.
//
// # A day of the app
//
// bench day runs the short-video app under the load of many users for a fixed time, over
// two nodes and two workers of a separate installation. Each user scrolls the feed,
// watches clips, likes, comments, follows, chats and uploads, one action after the other
// with a pause in between. The report has the duration of each kind of action, the delay
// until a message is on the screen of its receiver, and CPU times. Replies are checked:
//
//   - A user's actions show in the next feed of that user, also after everybody has moved to
//     the other node halfway through. Own comments and videos come first. A clip is
//     compared byte by byte.
//   - Every message reaches the streams of both its users once.
//   - In the end Postgres holds what was acknowledged and nothing else;
//     ovation verify finds no difference.
//
// # Invariants
//
//   - The generated data is consistent and skewed: TestFilledWorldIsConsistentAndSkewed.
//   - Cold pages share no viewer and no subject: TestPagesOfAWorldAreDisjoint.
//   - Wrong replies to the users of a day are found, and missing ones counted:
//     TestWrongRepliesOfADayAreFound, TestRequestsWithoutAReplyAreNoted.
//
// # Files
//
//	main.go, plan.go                the run and the duration of its parts
//	site.go, process.go, floor.go   the processes, and the data of the floor
//	data.go, truth.go, people.go    the expected contents of the database
//	page.go, like.go                requests, and checks of the replies
//	compare.go, rows.go, row_*.go   alternation, and the rows of the report
//	usage.go, report.go             CPU times and the report
//	growth*.go                      bench growth
//	day*.go                         bench day
//
// This package may import every other package of this module.
package main
