/** A press on a picture of a comment opens the lightbox, which is loaded with the first press. Without it the link leads to the picture. */

import type { ThreadPartHost } from './part-host.ts';

export function openPicturesInLightbox(thread: ThreadPartHost): void {
  thread.frame.section.addEventListener('click', async (event) => {
    const hasModifier = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    const link = (event.target as Element).closest<HTMLAnchorElement>('.media a');
    if (!link || hasModifier || event.defaultPrevented) return;
    event.preventDefault();
    try {
      const { openLightbox } = await import('./lightbox.ts');
      openLightbox(thread, link);
    } catch {
      window.open(link.href, '_blank', 'noreferrer');
    }
  });
}
