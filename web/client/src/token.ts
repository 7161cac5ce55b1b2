// TokenSource returns a token, or nothing for an anonymous viewer.
export type TokenSource = () => string | null | undefined | Promise<string | null | undefined>;

// TokenRejected is the error of subscriptions whose token the server rejected.
export class TokenRejected extends Error {
  override readonly name = 'TokenRejected';

  constructor(readonly reason: string) {
    super(`The token was rejected: ${reason}`);
  }
}

// Tokens supplies the token of each connection, and never one that was rejected.
export class Tokens {
  private sent = '';
  private rejected: string | undefined;
  private reason = '';

  constructor(private readonly source: string | TokenSource = '') {}

  // next returns the payload of connection_init that authenticates the viewer. It throws
  // TokenRejected if the only token is the one that was rejected.
  async next(): Promise<{ Authorization?: string }> {
    const token = bare((typeof this.source === 'string' ? this.source : await this.source()) ?? '');
    if (token && token === this.rejected) throw new TokenRejected(this.reason);
    this.sent = token;
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  reject(reason: string): void {
    this.rejected = this.sent;
    this.reason = reason;
  }

  // mayHaveAnother reports whether the source may return another token.
  get mayHaveAnother(): boolean {
    return typeof this.source === 'function' && this.sent !== '';
  }
}

// bare returns a token without what is often copied along with it.
function bare(token: string): string {
  return token.replace(/^\s*(authorization:)?\s*(bearer\s)?/i, '').trim();
}
