// requestId returns a random id. crypto.randomUUID exists only in secure contexts.
export function requestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
