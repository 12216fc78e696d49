/**
 * Who the reader is: the member whose token the host page gives, else one who has signed in with the installation, else a
 * guest, else unknown.
 */

import type { Guest, Session } from '../api/wire.ts';
import { siteStorage } from '../util/json-storage.ts';

/** What a name line needs. Each part may be missing: a token is not verified here. */
export interface KnownMember {
  id?: string | undefined;
  name?: string | undefined;
  avatar?: string | null | undefined;
  level?: number | null | undefined;
}

interface TokenClaims extends Omit<KnownMember, 'id'> {
  sub?: string;
  role?: string;
}

/** An event of the window: who the reader is has changed on this page. Of other pages the browser says so by `storage`. */
export const IDENTITY_CHANGED = 'gailou:identity';

/** Whose token the reader has. */
export type IdentityKind = 'host' | 'account' | 'guest';

export class ReaderIdentity {
  hostToken: string | null;
  /** A host token that the server did not accept; it is not sent for the overlay again. */
  refusedToken: string | null = null;
  readonly #guestKey: string;
  readonly #sessionKey: string;

  constructor(base: string, hostToken: string | null) {
    this.hostToken = hostToken;
    this.#guestKey = `gailou:guest:${base}`;
    this.#sessionKey = `gailou:session:${base}`;
  }

  get guest(): Guest | null {
    return siteStorage.get<Guest>(this.#guestKey);
  }

  /** What signing in with the installation gave. */
  get session(): Session | null {
    return siteStorage.get<Session>(this.#sessionKey);
  }

  get kind(): IdentityKind | null {
    if (this.hostToken) return 'host';
    if (this.session) return 'account';
    return this.guest ? 'guest' : null;
  }

  get token(): string | null {
    return this.hostToken || (this.session?.token ?? this.guest?.token ?? null);
  }

  /** What the token says is not verified: the server decides what its bearer sees. */
  get moderatorToken(): string | null {
    const token = this.kind === 'guest' ? null : this.token;
    const role = token && readTokenClaims(token).role;
    return role === 'moderator' || role === 'admin' ? token : null;
  }

  get member(): KnownMember | null {
    if (this.kind === 'guest') return this.guest?.member ?? null;
    const { token } = this;
    if (!token) return null;
    const { sub, name, avatar, level } = readTokenClaims(token);
    return { id: sub, name, avatar, level };
  }

  keepGuest({ token, member }: Guest): void {
    siteStorage.set(this.#guestKey, { token, member });
    announceChange();
  }

  dropGuest(): void {
    siteStorage.remove(this.#guestKey);
    announceChange();
  }

  keepSession({ token, expires_at }: Session): void {
    siteStorage.set(this.#sessionKey, { token, expires_at });
    announceChange();
  }

  dropSession(): void {
    siteStorage.remove(this.#sessionKey);
    announceChange();
  }
}

const announceChange = () => globalThis.dispatchEvent?.(new Event(IDENTITY_CHANGED));

/** The claims of a JWT, not verified: to be shown, never to be trusted. */
export function readTokenClaims(token: string): TokenClaims {
  try {
    const payload = (token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
    return (JSON.parse(new TextDecoder().decode(bytes)) ?? {}) as TokenClaims;
  } catch {
    return {};
  }
}
