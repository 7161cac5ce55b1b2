package main

import "ovation/resolvers/limits"

// limitFlags bound what one client may ask.
type limitFlags struct {
	MaxMutationFields mutationFields `default:"10" help:"Root fields that a mutation may have." variable:"OVATION_MAX_MUTATION_FIELDS"`
}

// mutationFields is how many root fields a mutation may have.
type mutationFields int

// UnmarshalText refuses none, and more than any operation may have.
func (n *mutationFields) UnmarshalText(text []byte) error {
	return bounded((*int)(n), text, 1, limits.MaxFields)
}
