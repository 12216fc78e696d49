/** Passkeys of this browser and of keys that are plugged into it: WebAuthn, with its bytes as JSON has them. */

import { sendRequest } from '../api/request.ts';
import type { PasskeyChallenge } from './wire.ts';

const PATH = '/v1/auth/passkeys';
type Json = Record<string, unknown>;

/** Whether a page of this host can use passkeys: the browser has them, and the host has a name. */
export function canUsePasskeys(hostname = location.hostname): boolean {
  const isNumeric = /^[\d.]+$/.test(hostname) || hostname.includes(':');
  return typeof PublicKeyCredential === 'function' && !isNumeric;
}

/** Whether an account of this installation is signed in: only such have passkeys. The host's members are below. */
export function isOwnAccount(memberId: string): boolean {
  return /^\d{1,19}$/.test(memberId) && BigInt(memberId) >= 2n ** 62n;
}

/** Signs in with a passkey that the person chooses: a token for some minutes, and a cookie. Null where none is chosen. */
export async function signInWithPasskey(): Promise<string | null> {
  const begun = await sendRequest<PasskeyChallenge>({ method: 'POST', url: `${PATH}/challenge` });
  const { challenge, options } = begun.data;
  const publicKey = requestOptions(options);
  const credential = await orNull(navigator.credentials.get({ publicKey }));
  if (!credential) return null;
  const body = { challenge, credential: credentialJson(credential) };
  const url = `${PATH}/session`;
  const { data } = await sendRequest<{ token: string }>({ method: 'POST', url, body });
  return data.token;
}

/** Makes a passkey, as the server takes it. Null where the person does not. */
export async function createPasskey(options: Json): Promise<Json | null> {
  const publicKey = creationOptions(options);
  const credential = await orNull(navigator.credentials.create({ publicKey }));
  return credential && credentialJson(credential);
}

/** Null where the person has closed the browser's window, or has not answered: it says no more than that. */
async function orNull(asked: Promise<Credential | null>): Promise<PublicKeyCredential | null> {
  try {
    return (await asked) as PublicKeyCredential | null;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotAllowedError') return null;
    throw error;
  }
}

/** Whether the authenticator has a passkey of the account already. */
export const isKnownPasskey = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'InvalidStateError';

export function creationOptions(options: Json): PublicKeyCredentialCreationOptions {
  const user = options.user as Json;
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: descriptors(options.excludeCredentials),
  } as unknown as PublicKeyCredentialCreationOptions;
}

export function requestOptions(options: Json): PublicKeyCredentialRequestOptions {
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    allowCredentials: descriptors(options.allowCredentials),
  } as unknown as PublicKeyCredentialRequestOptions;
}

function descriptors(list: unknown): unknown[] {
  const all = Array.isArray(list) ? (list as Json[]) : [];
  return all.map((descriptor) => ({ ...descriptor, id: bytesOf(descriptor.id) }));
}

/** As `toJSON()` writes it, which not every browser has, nor the passkeys of every password manager. */
export function credentialJson(credential: PublicKeyCredential): Json {
  const { id, type, rawId } = credential;
  const response = credential.response as AuthenticatorAttestationResponse &
    AuthenticatorAssertionResponse;
  const bytes = {
    clientDataJSON: response.clientDataJSON,
    attestationObject: response.attestationObject,
    authenticatorData: response.signature && response.authenticatorData,
    signature: response.signature,
    userHandle: response.userHandle,
  };
  const given = Object.entries(bytes).filter((part): part is [string, ArrayBuffer] =>
    Boolean(part[1]),
  );
  return {
    id,
    type,
    rawId: base64Of(rawId),
    response: Object.fromEntries(given.map(([name, value]) => [name, base64Of(value)])),
    clientExtensionResults: {},
  };
}

function bytesOf(text: unknown): Uint8Array {
  const bytes = atob(String(text).replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

function base64Of(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
