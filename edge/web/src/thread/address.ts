/** Follows the address: what shows the comment that it names is loaded when there is one. */

import { linkedCommentId } from './comment-hash.ts';
import type { Permalink, PermalinkHost } from './permalink.ts';

export class AddressFollower {
  readonly #thread: PermalinkHost;
  #permalink: Permalink | null = null;

  constructor(thread: PermalinkHost) {
    this.#thread = thread;
  }

  /** Why the linked comment is not shown; empty when it is, or when none is linked. */
  get notice(): string {
    return this.#permalink?.notice ?? '';
  }

  /** Shows the comment that the address names, else the list; false when it names none. */
  followAddress(): boolean {
    const id = linkedCommentId();
    if (this.#permalink) this.#permalink.followAddress();
    else if (id) this.#loadAndFollow();
    return Boolean(id);
  }

  async #loadAndFollow(): Promise<void> {
    const { roots } = this.#thread;
    roots.showBusy(true);
    try {
      const { Permalink } = await import('./permalink.ts');
      this.#permalink ??= new Permalink(this.#thread);
      // The reader may have gone on meanwhile.
      if (!this.#permalink.followAddress() && !roots.isLoaded) roots.loadFirst();
    } catch {
      roots.loadFirst();
    }
  }
}
