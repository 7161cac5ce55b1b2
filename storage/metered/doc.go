// Package metered measures a store. Store passes every call to the store behind it, which
// may belong to any adapter. Store exports
//
//	ovation_storage_seconds        duration of each call, by method
//	ovation_storage_errors_total   failed calls, by method
//	ovation_replies_total          subjects whose counts were read, by freshness
//
// Errors that answer the caller, such as storage.ErrNotFound, and cancelled calls
// are not failures.
//
// # Invariants
//
//   - Each call is measured once, under the name of its method, and its results and
//     errors are those of the store behind it: TestCallsAreMeasuredAndFaultsCounted.
//   - Every method of storage.Store is measured, except for scans and those that answer no
//     request: package calls passes them all.
//
// This package imports storage and calls, and no other package of this module.
package metered
