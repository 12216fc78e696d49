// A member's token: a JWT that your site signs for the member who is signed in there.
//
//   GAILOU_TOKEN_SECRET=… node examples/node/member-token.mjs 7 Ann
//
// Sign on the server, never in the browser: anyone who has the secret can be any member.

import { createHmac, sign } from 'node:crypto';
import { fileURLToPath } from 'node:url';

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * What the token says. `id` is your own id of the member, a number below 2^62; `role` is "member",
 * "moderator" or "admin". A token may be good for 30 days at most; an hour is a good choice.
 */
function claims({ id, name, role = 'member', level = 0, avatar }, seconds) {
  const iat = Math.floor(Date.now() / 1000);
  return { sub: String(id), name, role, level, avatar, aud: 'gailou', iat, exp: iat + seconds };
}

/** HS256: `secret` is the server's GAILOU_TOKEN_SECRET, 32 bytes or more. */
export function memberToken(member, secret, seconds = 3600) {
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims(member, seconds))}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

/** EdDSA: `privateKey` is an Ed25519 KeyObject; the server gets GAILOU_AUTH__TOKEN_PUBLIC_KEY. */
export function memberTokenByKey(member, privateKey, seconds = 3600) {
  const signed = `${part({ alg: 'EdDSA', typ: 'JWT' })}.${part(claims(member, seconds))}`;
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The 32 bytes of an Ed25519 public key in base64, as GAILOU_AUTH__TOKEN_PUBLIC_KEY takes them. */
export function publicKeyText(publicKey) {
  return Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url').toString('base64');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [id, name] = process.argv.slice(2);
  const secret = process.env.GAILOU_TOKEN_SECRET;
  if (!id || !name || !secret) {
    console.error('usage: GAILOU_TOKEN_SECRET=… node member-token.mjs ID NAME');
    process.exit(2);
  }
  console.log(memberToken({ id, name }, secret));
}
