/**
 * SHA-256 of many texts that begin alike. The browser's own is no choice here: a page without HTTPS
 * has none, and the call takes longer than the hash.
 */

const BLOCK_BYTES = 64;
const BLOCK_WORDS = 16;
const ROUNDS = 64;
/** Of the padding: a bit, and the length in 64 bits. */
const MIN_PADDING_BYTES = 9;

const PRIMES = firstPrimes(ROUNDS);
/** The fractions of square roots and cube roots of the first primes, in 32 bits. */
const INITIAL_STATE = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const ROUND_CONSTANTS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return primes;
}

function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0;
}

export class PrefixedSha256 {
  /** After the whole blocks of the prefix. */
  readonly #prefixState = INITIAL_STATE.slice();
  /** What is left of the prefix. */
  readonly #rest: Uint8Array;
  readonly #prefixBytes: number;
  readonly #state = new Int32Array(8);
  /** Of one block. */
  readonly #words = new Int32Array(ROUNDS);

  constructor(prefix: string) {
    const bytes = new TextEncoder().encode(prefix);
    const whole = bytes.length - (bytes.length % BLOCK_BYTES);
    for (let at = 0; at < whole; at += BLOCK_BYTES) {
      this.#fill(bytes.subarray(at, at + BLOCK_BYTES), 0);
      compress(this.#prefixState, this.#words);
    }
    this.#rest = bytes.subarray(whole);
    this.#prefixBytes = bytes.length;
  }

  /** The hash of the prefix and these ASCII characters: eight words, in the same array each time. */
  hash(suffix: string): Int32Array {
    const used = this.#rest.length + suffix.length;
    const bytes = new Uint8Array(used + 1);
    bytes.set(this.#rest);
    for (let i = 0; i < suffix.length; i += 1) {
      bytes[this.#rest.length + i] = suffix.charCodeAt(i);
    }
    bytes[used] = 0x80;
    this.#state.set(this.#prefixState);
    const blocks = Math.ceil((used + MIN_PADDING_BYTES) / BLOCK_BYTES);
    for (let block = 0; block < blocks; block += 1) {
      this.#fill(bytes, block * BLOCK_BYTES);
      if (block === blocks - 1) {
        this.#words[BLOCK_WORDS - 1] = (this.#prefixBytes + suffix.length) * 8;
      }
      compress(this.#state, this.#words);
    }
    return this.#state;
  }

  /** The block of these bytes that begins here; zeros behind their end. */
  #fill(bytes: Uint8Array, start: number): void {
    for (let i = 0; i < BLOCK_WORDS; i += 1) {
      const at = start + i * 4;
      this.#words[i] =
        (byteAt(bytes, at) << 24) |
        (byteAt(bytes, at + 1) << 16) |
        (byteAt(bytes, at + 2) << 8) |
        byteAt(bytes, at + 3);
    }
  }
}

const byteAt = (bytes: Uint8Array, at: number): number =>
  at < bytes.length ? (bytes[at] as number) : 0;

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** One block, as in FIPS 180-4, section 6.2.2: its words are the first 16 of `w`. */
function compress(state: Int32Array, w: Int32Array): void {
  for (let i = BLOCK_WORDS; i < ROUNDS; i += 1) {
    const [before2, before15] = [w[i - 2] as number, w[i - 15] as number];
    const sigma0 = rotate(before15, 7) ^ rotate(before15, 18) ^ (before15 >>> 3);
    const sigma1 = rotate(before2, 17) ^ rotate(before2, 19) ^ (before2 >>> 10);
    w[i] = ((w[i - 16] as number) + sigma0 + (w[i - 7] as number) + sigma1) | 0;
  }
  let [a, b, c, d] = [
    state[0] as number,
    state[1] as number,
    state[2] as number,
    state[3] as number,
  ];
  let [e, f, g, h] = [
    state[4] as number,
    state[5] as number,
    state[6] as number,
    state[7] as number,
  ];
  for (let i = 0; i < ROUNDS; i += 1) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + (ROUND_CONSTANTS[i] as number) + (w[i] as number)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sum0 + majority) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries())
    state[i] = (state[i] as number) + word;
}
