/**
 * ALTCHA's proof of work, version 1: finds the number that the server hashed behind the salt.
 *
 * It works in slices on the page's own thread. A worker would need a policy of the page that allows
 * one from another host.
 */

import { PrefixedSha256 } from '../util/sha256.ts';
import { nextTask } from '../util/time.ts';
import type { AltchaChallenge } from './wire.ts';

/** Half of a frame at 60 a second. */
const SLICE_MS = 8;
/** Hashes between two looks at the clock: well under a millisecond. */
const HASHES_PER_LOOK = 256;

/** ALTCHA's payload; null when no number is right. `pause` lets the page do something else. */
export async function solveAltcha(
  { algorithm, challenge, maxnumber, salt, signature }: AltchaChallenge,
  pause = nextTask,
): Promise<string | null> {
  const hash = new PrefixedSha256(salt);
  const wanted = wordsOf(challenge);
  let sliceEndsMs = performance.now() + SLICE_MS;
  for (let number = 0; number <= maxnumber; number += 1) {
    if (isEqual(hash.hash(String(number)), wanted)) {
      return btoa(JSON.stringify({ algorithm, challenge, number, salt, signature }));
    }
    if (number % HASHES_PER_LOOK === 0 && performance.now() > sliceEndsMs) {
      await pause();
      sliceEndsMs = performance.now() + SLICE_MS;
    }
  }
  return null;
}

/** The eight words of a hash in hexadecimal digits. */
function wordsOf(hex: string): Int32Array {
  return Int32Array.from({ length: 8 }, (_, i) => Number.parseInt(hex.slice(i * 8, i * 8 + 8), 16));
}

function isEqual(one: Int32Array, other: Int32Array): boolean {
  return one.every((word, i) => word === other[i]);
}
