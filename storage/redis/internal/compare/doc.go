// Package compare checks that Redis agrees with the database (I2). A mismatch is reported
// only if it persists for longer than any change in progress can take. A repair deletes
// the mismatch from Redis, which is later filled again from the database.
//
// It is tested by TestCompareFindsAndDropsStaleEntries of package redis, and by every test
// that ends with Store.Compare.
package compare
