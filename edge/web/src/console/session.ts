/** Who is signed in: the token of a moderator, kept for this tab alone. */

import type { Role } from './wire.ts';

const TOKEN_KEY = 'gailou.console.token';

export interface Session {
  token: string;
  name: string;
  role: Role;
}

/** What the token says, unverified: the server decides. Null for what is no token of a moderator, or an old one. */
export function readSession(token: string, nowMs = Date.now()): Session | null {
  const claims = claimsOf(token.trim());
  if (!claims) return null;
  const { name, role, exp } = claims;
  if (role !== 'moderator' && role !== 'admin') return null;
  if (typeof exp === 'number' && exp * 1000 <= nowMs) return null;
  return { token: token.trim(), name: typeof name === 'string' ? name : '', role };
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

export function storedSession(): Session | null {
  const token = sessionStorage.getItem(TOKEN_KEY);
  return token ? readSession(token) : null;
}

export function storeSession(session: Session | null): void {
  if (session) sessionStorage.setItem(TOKEN_KEY, session.token);
  else sessionStorage.removeItem(TOKEN_KEY);
}
