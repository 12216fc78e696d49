/** Who the reader is: the member whose token the host page gives, else a guest, else unknown. */

import type { Guest } from '../api/wire.ts';
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

export class ReaderIdentity {
  hostToken: string | null;
  /** A host token that the server did not accept; it is not sent for the overlay again. */
  refusedToken: string | null = null;
  readonly #guestKey: string;

  constructor(base: string, hostToken: string | null) {
    this.hostToken = hostToken;
    this.#guestKey = `gailou:guest:${base}`;
  }

  get guest(): Guest | null {
    return siteStorage.get<Guest>(this.#guestKey);
  }

  get isFromHost(): boolean {
    return Boolean(this.hostToken);
  }

  get token(): string | null {
    return this.hostToken || (this.guest?.token ?? null);
  }

  /** What the token says is not verified: the server decides what its bearer sees. */
  get moderatorToken(): string | null {
    const role = this.hostToken && readTokenClaims(this.hostToken).role;
    return role === 'moderator' || role === 'admin' ? this.hostToken : null;
  }

  get member(): KnownMember | null {
    if (!this.hostToken) return this.guest?.member ?? null;
    const { sub, name, avatar, level } = readTokenClaims(this.hostToken);
    return { id: sub, name, avatar, level };
  }

  keepGuest({ token, member }: Guest): void {
    siteStorage.set(this.#guestKey, { token, member });
  }

  dropGuest(): void {
    siteStorage.remove(this.#guestKey);
  }
}

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
