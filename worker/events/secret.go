package events

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Secret signs the requests to webhooks. It is never printed.
type Secret struct{ text string }

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
	return Secret{text}, nil
}

// String hides the secret.
func (Secret) String() string { return "[secret]" }

func (s Secret) sign(id string, at time.Time, body []byte) (string, error) {
	webhook, err := standardwebhooks.NewWebhook(s.text)
	if err != nil {
		return "", errors.New("the secret of the webhook cannot be used")
	}
	return webhook.Sign(id, at, body)
}
