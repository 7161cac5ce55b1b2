// Package picture draws the pictures of the demo data: avatars of people, and the frames of
// short clips. Everything is computed; the same arguments give the same picture.
//
// # Invariants
//
//   - Every avatar is different: TestAvatarsDiffer.
//   - A scene draws any frame at any time, in any order, and two frames of it differ:
//     TestScenesMove.
//
// This package imports no package of this module.
package picture
