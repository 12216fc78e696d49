/** Tokens of members, which a site signs with the secret that it shares with the server. */

import { SignJWT } from 'jose';
import type { Role } from './shapes.js';

const DEFAULT_LIFETIME_SECONDS = 3_600;
const MAX_LIFETIME_SECONDS = 30 * 86_400;
const MIN_SECRET_BYTES = 32;

/** A member of your site, as readers see them. */
export interface Member {
  /** Your own id of the member: a number below 2^62, in decimal digits. */
  id: string;
  name: string;
  /** The address of a picture. */
  avatar?: string;
  /** Where mails about replies go. */
  email?: string;
  level?: number;
  /** Without it the member is an ordinary one. */
  role?: Role;
}

export interface TokenOptions {
  /** How long the token is valid: an hour, unless it is said here; 30 days at most. */
  lifetimeSeconds?: number;
  /** The server's setting `auth.audience`; `gailou` by default. */
  audience?: string;
}

/**
 * A token (JWT, HS256) with which the member writes. `secret` is the server's `GAILOU_TOKEN_SECRET`: sign on your server,
 * never in a browser, because who has the secret can be any member. Rejects with a `RangeError` for a secret of fewer than
 * 32 bytes, and for a lifetime of less than a second or more than 30 days.
 */
export async function signMemberToken(
  member: Member,
  secret: string,
  { lifetimeSeconds = DEFAULT_LIFETIME_SECONDS, audience = 'gailou' }: TokenOptions = {},
): Promise<string> {
  const key = new TextEncoder().encode(secret);
  if (key.length < MIN_SECRET_BYTES) {
    throw new RangeError(`The secret must have ${MIN_SECRET_BYTES} bytes or more`);
  }
  if (!(lifetimeSeconds >= 1 && lifetimeSeconds <= MAX_LIFETIME_SECONDS)) {
    throw new RangeError(`A token may be valid for 1 to ${MAX_LIFETIME_SECONDS} seconds`);
  }
  // By name: an object with more fields, such as a record of a database, must not leak them into the token.
  const { id, name, avatar, email, level, role } = member;
  const issuedAt = Math.floor(Date.now() / 1_000);
  return new SignJWT({ name, avatar, email, level, role })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(id)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + Math.floor(lifetimeSeconds))
    .sign(key);
}
