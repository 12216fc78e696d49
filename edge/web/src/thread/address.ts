/**
 * Follows the links to a comment (`#comment-123`). One that is on the page is scrolled to and marked
 * for a moment; what shows another one above the list is loaded when there is one. The list stays.
 */

import { commentIdIn } from './comment-hash.ts';
import type { LinkedPanel, LinkedPanelHost } from './linked-panel.ts';

export class AddressFollower {
  /** Why the linked comment is not shown; empty when it is, or when none is linked. */
  notice = '';
  readonly #thread: LinkedPanelHost;
  #panel: LinkedPanel | null = null;

  constructor(thread: LinkedPanelHost) {
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

  /** Shows the comment that the address names, if it names one. */
  followAddress(): void {
    const id = commentIdIn(location.hash);
    if (id) this.#show(id);
    else this.#panel?.close();
  }

  /** An empty text takes the notice away. */
  notify(notice: string): void {
    this.notice = notice;
    this.#thread.showState();
    if (notice) this.#thread.frame.notice.scrollIntoView({ block: 'nearest' });
  }

  /** False when the comment has no place of its own on the page. */
  showOnPage(id: string): boolean {
    const view = this.#thread.comments.viewsOf(id)[0];
    if (!view) return false;
    view.focus({ preventScroll: true });
    view.node.scrollIntoView({ block: 'center' });
    view.mark();
    return true;
  }

  stop(): void {
    this.#panel?.stop();
  }

  async #show(id: string): Promise<void> {
    this.notify('');
    this.#panel?.stop();
    if (this.showOnPage(id)) return;
    try {
      const { LinkedPanel } = await import('./linked-panel.ts');
      this.#panel ??= new LinkedPanel(this.#thread, this);
    } catch {
      this.notify(this.#thread.text.errors.network);
      return;
    }
    await this.#panel.open(id);
  }
}
