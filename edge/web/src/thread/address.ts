/** Links to a comment (`#comment-123`) that are pressed in the thread. */

import { commentIdIn } from './comment-hash.ts';

/**
 * Such a link shows its comment, without a history for a place in a page that one has seen already. Before this is loaded the
 * browser follows it, and the element the address.
 */
export function followCommentLinks(section: HTMLElement, show: (id: string) => void): void {
  section.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = (event.target as Element).closest('a');
    const id = commentIdIn(link?.getAttribute('href') ?? '');
    if (!id) return;
    event.preventDefault();
    history.replaceState(history.state, '', `#comment-${id}`);
    show(id);
  });
}
