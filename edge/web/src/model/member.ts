/** What is known of a reader who has a token, and how that changes. It is loaded when it matters who reads. */

import type { Guest, Session } from '../api/wire.ts';
import { siteStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';

/** What is used of a `ReaderIdentity`. */
interface StoredIdentity {
  readonly guestKey: string;
  readonly sessionKey: string;
  readonly hostToken: string | null;
  readonly refusedToken: string | null;
  readonly guest: Guest | null;
  readonly session: Session | null;
  readonly token: string | null;
}

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

/** Whose token the reader has; null for a reader who is unknown. */
export function kindOf({
  hostToken,
  session,
  guest,
}: Pick<StoredIdentity, 'hostToken' | 'session' | 'guest'>): 'host' | 'account' | 'guest' | null {
  if (hostToken) return 'host';
  if (session) return 'account';
  return guest ? 'guest' : null;
}

/** Whether the server does not accept the token of the host page. */
export const isRefused = ({ hostToken, refusedToken }: StoredIdentity): boolean =>
  Boolean(hostToken) && hostToken === refusedToken;

/** What the token says is not verified: the server decides what its bearer sees. */
export function moderatorTokenOf(identity: StoredIdentity): string | null {
  const { token } = identity;
  const role = kindOf(identity) !== 'guest' && token ? readTokenClaims(token).role : null;
  return role === 'moderator' || role === 'admin' ? token : null;
}

export function memberOf(identity: StoredIdentity): KnownMember | null {
  const { guest, token } = identity;
  if (kindOf(identity) === 'guest') return guest?.member ?? null;
  if (!token) return null;
  const { sub, name, avatar, level } = readTokenClaims(token);
  return { id: sub, name, avatar, level };
}

export function keepGuest({ guestKey }: StoredIdentity, { token, member }: Guest): void {
  keepIn(siteStorage, guestKey, { token, member });
  announceChange();
}

export function dropGuest({ guestKey }: StoredIdentity): void {
  removeFrom(siteStorage, guestKey);
  announceChange();
}

export function keepSession({ sessionKey }: StoredIdentity, { token, expires_at }: Session): void {
  keepIn(siteStorage, sessionKey, { token, expires_at });
  announceChange();
}

export function dropSession({ sessionKey }: StoredIdentity): void {
  removeFrom(siteStorage, sessionKey);
  announceChange();
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
