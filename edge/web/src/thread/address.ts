/** Follows the links to a comment (`#comment-123`). What shows the comment is loaded when there is one. The list stays. */

import { commentIdIn } from './comment-hash.ts';
import type { LinkedPanel, LinkedPanelHost } from './linked-panel.ts';

interface AddressHost extends Omit<LinkedPanelHost, 'recent' | 'reader'> {
  /** Loads what acts. */
  complete(): Promise<{ readonly thread: LinkedPanelHost }>;
}

export class AddressFollower {
  readonly #thread: AddressHost;
  #notice = '';
  #panel: LinkedPanel | null = null;

  constructor(thread: AddressHost) {
    this.#thread = thread;
    // No history for a place in a page that one has seen already.
    thread.frame.section.addEventListener('click', (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const link = (event.target as Element).closest('a');
      const id = commentIdIn(link?.getAttribute('href') ?? '');
      if (!id) return;
      event.preventDefault();
      history.replaceState(history.state, '', `#comment-${id}`);
      this.#show(id);
    });
  }

  /** Why the linked comment is not shown; empty when it is, or when none is linked. */
  get notice(): string {
    return this.#notice || (this.#panel?.notice ?? '');
  }

  /** Shows the comment that the address names, if it names one. */
  followAddress(): void {
    const id = commentIdIn(location.hash);
    if (id) this.#show(id);
    else this.#panel?.close();
  }

  stop(): void {
    this.#panel?.stop();
  }

  async #show(id: string): Promise<void> {
    try {
      const [{ LinkedPanel }, { thread }] = await Promise.all([
        import('./linked-panel.ts'),
        this.#thread.complete(),
      ]);
      this.#panel ??= new LinkedPanel(thread);
    } catch {
      this.#notice = this.#thread.text.errors.network;
      this.#thread.showState();
      return;
    }
    this.#notice = '';
    await this.#panel.show(id);
  }
}
