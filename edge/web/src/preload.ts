/** Asks for the first page of comments while the element is on its way. */

import { firstPageUrl, USUAL_SORT } from './api/first-page.ts';
import { chosenSort } from './util/chosen-sort.ts';

/** As the element: so near to the window it loads. */
const NEAR_PX = 800;

/** `server` is the address that the script came from, without a slash at the end. */
export function preloadFirstPage(element: HTMLElement, server: string): void {
  const attribute = (name: string) => element.getAttribute(name) ?? '';
  const subject = attribute('subject');
  // What is there already asks for itself.
  if (customElements.get('gailou-comments')) return;
  const isNear = element.getBoundingClientRect().top < innerHeight + NEAR_PX;
  if (!subject || !isNear || /^#comment-/.test(location.hash)) return;
  const base = attribute('api').replace(/\/$/, '') || server;
  const link = Object.assign(document.createElement('link'), {
    rel: 'preload',
    as: 'fetch',
    crossOrigin: '',
    href: base + firstPageUrl(subject, attribute('sort') || chosenSort() || USUAL_SORT),
  });
  document.head.append(link);
}
