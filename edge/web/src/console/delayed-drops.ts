/**
 * Texts that were dropped here and of which the server does not know yet: it cannot bring a dropped text back, so a drop is
 * sent when its time to be undone is over. One that was not sent before the page is closed is not carried out.
 */

export class DelayedDrops {
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** Whether a text is dropped here. */
  has(id: string): boolean {
    return this.#timers.has(id);
  }

  /** Calls `send` after so long, unless it is cancelled before. */
  add(id: string, delayMs: number, send: () => Promise<void>): void {
    const finish = () => this.#timers.delete(id);
    this.cancel(id);
    this.#timers.set(
      id,
      setTimeout(() => void send().finally(finish), delayMs),
    );
  }

  cancel(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }
}
