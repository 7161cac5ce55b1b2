// Command bench measures Ovation against its targets and writes a report, which begins
// with absolute figures and a chart. Next to most figures, the report states the same
// figure for the floor (bench/floor): a minimal server that answers the same requests on
// the same machine in the same run. The command has three forms:
//
//	bench          rates, latencies and CPU times, compared with the floor (make bench)
//	bench growth   costs as the number of rows grows (make bench-growth)
//	bench day      the short-video app under the load of many users (make load)
//
// The first form starts one API node, one worker and both processes of the floor. It uses
// the Postgres, Redis and RabbitMQ whose URLs are in the environment. Each run creates a
// separate installation, and removes its schema, keys and queues at the end. The data is
// CI&T Deskdrop if the file is next to the checkout; otherwise data with the same skew is
// generated. The floor is filled with the same data.
//
// # Methods
//
//   - The floor shares no format with Ovation. Otherwise its figures would include the
//     cost of Ovation's protocol, and the comparison would hide that cost.
//   - Ovation and the floor alternate (A B, B A, A B …). Each ratio is computed within
//     one such pair, so that other load on the machine affects both.
//   - Each connection sends requests as random viewers.
//   - Every page is requested once before the measurement, so that the caches of both
//     systems are warm.
//   - Latency is measured from the time at which a request was due (package load), which
//     avoids coordinated omission.
//   - Replies are checked during the measurement. Every reply to a like is checked. While
//     no writes are in progress, every page must equal the contents of Postgres, byte by
//     byte. While likes are being sent, one page in 16 is checked: it must agree with
//     earlier replies to its viewer and with the number of likes sent. One wrong reply
//     fails the run.
//   - If wrk is installed, it requests the same pages, and the report states both rates.
//   - After each load, Postgres must contain every acknowledged like, and no like that
//     was not sent. At the end, ovation verify must find no difference.
//   - The report states the CPU time of the load generator and of all other processes on
//     the machine.
//   - A seed determines the requests and their order. The number of requests depends on
//     the speed of the replies.
//
// # Growth
//
// bench growth measures the cost of a page and of a like as the number of rows in
// Postgres grows. It also measures the memory that Redis uses for each active user and
// subject. For each number of rows, it creates a separate installation and fills the
// tables by SQL; ovation verify must find no difference before and after the measurement.
// In the report, "first" means that the node is new, Redis is empty, and no viewer or
// subject occurs in two pages. Replies are checked as above. The keys in Redis
// are counted one by one.
//
// # Simulation
//
// bench day simulates users of the short-video app for a fixed time, with two nodes and
// two workers. Each user scrolls the feed, watches clips, likes, comments, follows, chats
// and uploads, one action after another, with pauses in between. The report states the
// duration of each kind of action, the delay until a message reaches its receiver, and
// CPU times. Replies are checked:
//
//   - The feed reflects the user's own actions, even after all users have moved to the
//     other node halfway through. A user's new comment or video is on the first page of
//     its list. Every downloaded clip is compared byte by byte.
//   - Every message is delivered exactly once to its sender, and exactly once to its
//     receiver.
//   - In the end, Postgres contains the acknowledged actions and no others, and ovation
//     verify finds no difference.
//
// # Invariants
//
//   - Wrong replies are found: TestWrongPagesAreFound, TestWrongPagesAreFoundDuringLikes,
//     TestWrongLikesAreFound, TestWrongCommentsAreFound, TestFloorPagesAreChecked.
//   - Wrong replies to simulated users are found, and missing replies are counted:
//     TestWrongRepliesToSimulatedUsersAreFound, TestRequestsWithoutAReplyCountAsFailed,
//     TestLostStatesAreFound.
//   - A seed determines the generated data, which is skewed:
//     TestGeneratedDataIsReproducibleAndSkewed.
//   - The tables that bench growth fills are consistent, skewed and reproducible:
//     TestFilledTablesAreConsistentAndSkewed, TestFilledTablesAreReproducible.
//   - Cold pages share no viewer and no subject: TestColdPagesAreDisjoint.
//   - The report and its chart show the same figures: TestReportAndChartAgree.
//   - No user likes a subject twice: TestNoUserLikesASubjectTwice,
//     TestNoUserLikesALikedSubjectAgain.
//
// # Files
//
//	main.go, plan.go                the run and the duration of its parts
//	site.go, process.go, floor.go   the installation, its processes, the data of the floor
//	data.go, truth.go, people.go    the data, the state of the database, the users
//	page.go, like.go                requests, and checks of the replies
//	compare.go, rows.go, row_*.go   alternation, and the rows of the report
//	usage.go, wrk.go                CPU times, the cross-check with wrk
//	report.go, figures.go           the report, its absolute figures and its chart
//	growth*.go                      bench growth
//	day*.go                         bench day
//
// This package may import every other package of this module.
package main
