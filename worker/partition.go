package worker

import "ovation/storage"

// PartitionOf returns the partition of a subject, from 0 to partitions-1: the 64-bit
// FNV-1a hash of tenant, biz and bizId, each followed by a zero byte, modulo the number
// of partitions. It must never change: a queued message stays in the partition that
// PartitionOf returned when the message was published.
func PartitionOf(subject storage.Subject, partitions int) int {
	if partitions <= 1 {
		return 0
	}
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for _, part := range [...]string{subject.Tenant, subject.Biz, subject.BizID} {
		for i := range len(part) {
			hash = (hash ^ uint64(part[i])) * prime
		}
		hash *= prime // the zero byte
	}
	return int(hash % uint64(partitions))
}
