// Package events reads a storage.EventLog for consumers. A Consumer continues where it has
// stopped, in one process at a time. Handlers publish what it reads to a broker
// (BrokerRelay) or post it to a webhook (Webhook). Events are encoded as CloudEvents 1.0 in
// the JSON format, positions as cursors.
//
// # Invariants
//
//   - Every event is handled at least once, whichever process stops:
//     TestAnotherConsumerContinues, TestLeaseIsHeldWhileEventsAreHandled,
//     TestHandlerEndsWhenTheLeaseIsLost, TestPositionNeverGoesBack. A gap is logged and counted:
//     TestPrunedEventsAreSkipped.
//   - A broker and a webhook get the events of a subject in their order, even if some have
//     to be sent again: TestWebhookKeepsTheOrderOfASubject.
//   - A webhook that does not answer, or answers that it cannot, loses nothing. An event
//     that it refuses is kept as a dead event: TestWebhookOutageLosesNothing,
//     TestRefusedEventsAreDeadLettered.
//   - The signature is that of Standard Webhooks: TestWebhookIsSigned.
//
// This package imports storage and outage.
package events
