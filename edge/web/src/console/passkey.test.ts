import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canUsePasskeys,
  creationOptions,
  credentialJson,
  isKnownPasskey,
  isOwnAccount,
  requestOptions,
} from './passkey.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);

test('passkeys need a browser that has them, and a host with a name', () => {
  assert.equal(canUsePasskeys('comments.example'), false);
  Object.assign(globalThis, { PublicKeyCredential: class {} });
  for (const [host, expected] of [
    ['comments.example', true],
    ['localhost', true],
    ['127.0.0.1', false],
    ['[::1]', false],
    ['1.example', true],
  ] as const) {
    assert.equal(canUsePasskeys(host), expected, host);
  }
});

test('only an account of the installation has passkeys', () => {
  assert.equal(isOwnAccount('6915278635217649664'), true);
  assert.equal(isOwnAccount('4611686018427387903'), false);
  assert.equal(isOwnAccount('900'), false);
  assert.equal(isOwnAccount('admin'), false);
});

test('options have bytes where WebAuthn wants them, and everything else as it was', () => {
  const created = creationOptions({
    challenge: '-_8A',
    rp: { id: 'c.example', name: 'c.example' },
    user: { id: 'AQI', name: 'Ann', displayName: 'Ann' },
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    excludeCredentials: [{ type: 'public-key', id: 'AwQ' }],
  });
  assert.deepEqual(created, {
    challenge: bytes(251, 255, 0),
    rp: { id: 'c.example', name: 'c.example' },
    user: { id: bytes(1, 2), name: 'Ann', displayName: 'Ann' },
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    excludeCredentials: [{ type: 'public-key', id: bytes(3, 4) }],
  });
  assert.deepEqual(requestOptions({ challenge: 'AQ', userVerification: 'required' }), {
    challenge: bytes(1),
    userVerification: 'required',
    allowCredentials: [],
  });
});

test('an answer is written as its toJSON does', () => {
  const rawId = bytes(251, 255).buffer;
  const made = { clientDataJSON: bytes(1).buffer, attestationObject: bytes(2).buffer };
  // A browser has `authenticatorData` here too, as a getter of what the attestation has in it.
  const credential = { id: '-_8', type: 'public-key', rawId, response: made };
  assert.deepEqual(credentialJson(credential as unknown as PublicKeyCredential), {
    id: '-_8',
    type: 'public-key',
    rawId: '-_8',
    response: { clientDataJSON: 'AQ', attestationObject: 'Ag' },
    clientExtensionResults: {},
  });
  const response = {
    clientDataJSON: bytes(1).buffer,
    authenticatorData: bytes(2).buffer,
    signature: bytes(3).buffer,
    userHandle: null,
  };
  const answer = credentialJson({ ...credential, response } as unknown as PublicKeyCredential);
  assert.deepEqual(answer.response, {
    clientDataJSON: 'AQ',
    authenticatorData: 'Ag',
    signature: 'Aw',
  });
});

test('an authenticator that has a passkey of the account says so', () => {
  assert.equal(isKnownPasskey(new DOMException('', 'InvalidStateError')), true);
  assert.equal(isKnownPasskey(new DOMException('', 'NotAllowedError')), false);
  assert.equal(isKnownPasskey(new TypeError()), false);
});
