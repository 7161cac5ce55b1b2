package events

import (
	"encoding/base64"
	"errors"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Secret signs the requests to webhooks. It is never printed.
type Secret struct{ signer *standardwebhooks.Webhook }

// secretPrefix begins a secret. Standard Webhooks asks for 24 to 64 random bytes in base64.
const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// ParseSecret parses a secret in the form of Standard Webhooks: whsec_ and the base64 of 24
// to 64 bytes. The error does not contain the secret.
func ParseSecret(text string) (Secret, error) {
	encoded, is := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !is || err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return Secret{}, errors.New(`a secret of webhooks is whsec_ and the base64 of 24 to 64 random bytes; echo "whsec_$(openssl rand -base64 32)" makes one`)
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	return Secret{signer}, err
}

// String hides the secret.
func (Secret) String() string { return "[secret]" }
