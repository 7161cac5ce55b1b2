//go:build !long

package seed

// fresh is whether runs draw their own seeds.
const fresh = false
