// Command ovation is the interaction backend of a content app in one binary. It serves
// the API, runs the workers, imports data from other platforms, verifies the stored
// counts and issues tokens for development.
//
// Each command is a struct of flags with a Run method, in a file named after it;
// commandLine (main.go) lists all commands. Every flag, except for two of ovation dead
// replay, has an environment variable (variables.go). An error about an invalid value
// names the flag or the variable (usage_errors.go).
//
// Apart from bench, this package is the only one that imports concrete adapters:
//
//   - wiring.go starts the embedded mode: SQLite, the queue and the worker within
//     the process (startEmbedded).
//   - distributed.go opens Postgres, Redis and RabbitMQ; serve.go and work.go use
//     them for a node and for a worker.
//   - api.go builds the API, which both modes share; dev.go contains the HTTP server,
//     which stops in stages.
//   - stack.go runs a whole site behind the balancer of internal/balance, with each part
//     in its own process.
//
// The function run is the program without global state: it takes the arguments, the
// environment, the standard streams and a context, and returns the exit code.
//
// # Invariants
//
// Some tests start processes of the built binary, and the others call run.
//
//   - I1 Acknowledged is durable, whichever process is killed:
//     TestKilledNodeLosesNothingAcknowledged, TestKilledWorkerLosesNothing,
//     TestKillUnderLoadLosesNothingAcknowledged.
//   - I4 Read your writes, on every node: TestOwnActionsAreInEveryReply.
//   - I6 Degrade: TestLikesArePersistedWithoutTheQueue,
//     TestCommentsAndFollowsContinueWithoutRedis,
//     TestCommentsFailAndFollowsContinueWithoutTheDatabase.
//   - A configured service that cannot be used is an error that names the service, never
//     a silent fallback: TestUnusableServicesAreNamed,
//     TestEachMissingPartOfTheServicesIsNamed.
//   - A stopped process finishes the requests in progress, but stops immediately on a
//     second signal: TestStopGoesInStages, TestNodeFinishesRunningRequests,
//     TestSecondSignalStopsANode. A rolling restart fails no request:
//     TestLongRollingRestartLosesNoRequest.
//   - A data folder has one server at a time: TestDataFolderHasOneServer. A restart
//     keeps the data: TestStopFinishesRunningRequests, TestWritesSurviveARestart.
//   - Development headers require a flag and a loopback address:
//     TestDevHeadersNeedAFlagAndALoopbackAddress, TestReverseProxyCannotImpersonateUsers.
//   - Every flag, with the exceptions above, has a variable and help. On incorrect usage,
//     the program states the problem and exits with code 2:
//     TestEveryFlagHasAVariableAndHelp, TestUsageErrorsNameTheCauseAndItsSource.
//
// This package may import every other package of this module.
package main
