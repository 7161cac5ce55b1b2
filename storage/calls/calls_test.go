package calls_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"ovation/storage"
	"ovation/storage/calls"
	"ovation/storage/sqlite"
)

// Every method of a store passes through the function, under its own name, and returns the
// function's error.
func TestEveryCallPassesThroughTheFunction(t *testing.T) {
	refused := errors.New("refused")
	var got calls.Call
	store := calls.New(nil, func(_ context.Context, call calls.Call, _ func(context.Context) error) error {
		got = call
		return refused
	})
	for method := range reflect.TypeFor[storage.Store]().Methods() {
		if method.Name == "Close" {
			continue
		}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < method.Type.NumIn(); i++ {
			in = append(in, reflect.Zero(method.Type.In(i)))
		}
		out := reflect.ValueOf(store).MethodByName(method.Name).Call(in)
		if got.Method != method.Name || got.Class == 0 {
			t.Errorf("%s: the function got %+v", method.Name, got)
		}
		if err, _ := reflect.TypeAssert[error](out[len(out)-1]); !errors.Is(err, refused) {
			t.Errorf("%s returned %v, want the function's error", method.Name, err)
		}
	}
}

// What the store behind it receives and returns is not changed.
func TestCallsReachTheStore(t *testing.T) {
	database, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "ovation.db")})
	if err != nil {
		t.Fatal(err)
	}
	store := calls.New(database, func(ctx context.Context, _ calls.Call, do func(context.Context) error) error { return do(ctx) })
	owner := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	made, err := store.CreateFolder(t.Context(), storage.Folder{Owner: owner, FolderID: "f", Name: "songs"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.FoldersOf(t.Context(), []storage.FolderKey{made.Key()})
	if err != nil || len(found) != 1 || found[0] == nil || found[0].Name != "songs" {
		t.Errorf("FoldersOf returned %v, %v, want the folder that was created", found, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := database.Ping(t.Context()); err == nil {
		t.Error("the store behind is open after Close")
	}
}
