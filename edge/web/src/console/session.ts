/** Who is signed in: the token of a moderator, kept for this tab alone. */

import type { Role } from './wire.ts';

const TOKEN_KEY = 'gailou.console.token';
const ROLE_KEY = 'gailou.console.role';

/** Whose token it is. */
export interface TokenOwner {
  token: string;
  /** The member's. */
  id: string;
  name: string;
  /** When it ends; null where it does not say. */
  expiresAt: number | null;
}

export interface Session extends TokenOwner {
  /** As the server sees it: it may have been given or taken there. */
  role: Role;
}

/** What the token says, unverified: the server decides. Null for what is no token, or an old one. */
export function readToken(text: string, nowMs = Date.now()): TokenOwner | null {
  const token = text.trim();
  const claims = claimsOf(token);
  if (!claims) return null;
  const { sub, name, exp } = claims;
  if (typeof sub !== 'string') return null;
  if (typeof exp === 'number' && exp * 1000 <= nowMs) return null;
  const expiresAt = typeof exp === 'number' ? exp * 1000 : null;
  return { token, id: sub, name: typeof name === 'string' ? name : '', expiresAt };
}

function claimsOf(token: string): Record<string, unknown> | null {
  const payload = token.split('.')[1];
  if (!payload) return null;
  try {
    const bytes = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    const claims: unknown = JSON.parse(text);
    return typeof claims === 'object' && claims !== null
      ? (claims as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** The session of this tab; null where there is none, or its token has ended. */
export function storedSession(): Session | null {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const role = sessionStorage.getItem(ROLE_KEY);
  const owner = token ? readToken(token) : null;
  return owner && (role === 'moderator' || role === 'admin') ? { ...owner, role } : null;
}

export function storeSession(session: Session | null): void {
  if (session) {
    sessionStorage.setItem(TOKEN_KEY, session.token);
    sessionStorage.setItem(ROLE_KEY, session.role);
  } else {
    sessionStorage.removeItem(TOKEN_KEY);
    sessionStorage.removeItem(ROLE_KEY);
  }
}
