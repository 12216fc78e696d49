/** The token of a member of the host page: a text, or what a function of the page fetches, once at a time. */

export type TokenSource = string | (() => Promise<string | null>) | null;

export class HostToken {
  #source: TokenSource;
  #request: Promise<boolean> | null = null;
  #isStarted = false;
  #current: string | null = null;
  readonly #take: (token: string | null) => void;

  /** `take` gets every token but the first text. */
  constructor(source: TokenSource, take: (token: string | null) => void) {
    this.#source = source;
    this.#take = take;
    this.#current = typeof source === 'string' ? source : null;
  }

  /** The last one; null while the page has given none. */
  get current(): string | null {
    return this.#current;
  }

  get isFetched(): boolean {
    return typeof this.#source === 'function';
  }

  set(source: TokenSource): void {
    this.#source = source;
    this.#request = null;
    if (this.isFetched) {
      if (this.#isStarted) this.fetch();
    } else {
      this.#show(source as string | null);
    }
  }

  /** The comments are loaded, so it matters who reads them. */
  start(): void {
    this.#isStarted = true;
    this.fetch();
  }

  /** Asks the page again; resolves to whether there is another token now. */
  fetch(): Promise<boolean> {
    this.#request ??= this.#ask();
    return this.#request;
  }

  /** Until the page has answered it is not known who the reader is. */
  async isKnown(): Promise<void> {
    await this.#request;
  }

  async #ask(): Promise<boolean> {
    const source = this.#source;
    if (typeof source !== 'function') return false;
    try {
      const token = await source();
      if (source !== this.#source || !token || token === this.#current) return false;
      this.#show(token);
      return true;
    } catch (error) {
      // The page's own error; the reader stays the same.
      console.error(error);
      return false;
    } finally {
      if (source === this.#source) this.#request = null;
    }
  }

  #show(token: string | null): void {
    this.#current = token;
    this.#take(token);
  }
}
