/**
 * Who the reader is: the member whose token the host page gives, else one who has signed in with the installation, else a
 * guest, else unknown.
 */

import type { Guest, Session } from '../api/wire.ts';
import { siteStorage } from '../util/json-storage.ts';

export class ReaderIdentity {
  hostToken: string | null;
  /** A host token that the server did not accept; it is not sent for the overlay again. */
  refusedToken: string | null = null;
  readonly guestKey: string;
  readonly sessionKey: string;

  constructor(base: string, hostToken: string | null) {
    this.hostToken = hostToken;
    this.guestKey = `gailou:guest:${base}`;
    this.sessionKey = `gailou:session:${base}`;
  }

  get guest(): Guest | null {
    return siteStorage.get<Guest>(this.guestKey);
  }

  /** What signing in with the installation gave. */
  get session(): Session | null {
    return siteStorage.get<Session>(this.sessionKey);
  }

  get token(): string | null {
    return this.hostToken || (this.session?.token ?? this.guest?.token ?? null);
  }

  /** The token, when it says that the reader is a moderator. */
  async findModeratorToken(): Promise<string | null> {
    if (!this.token) return null;
    const part = await import('./member.ts').catch(() => null);
    return part?.moderatorTokenOf(this) ?? null;
  }
}
