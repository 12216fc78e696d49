/** Defines the element, once for a page. */

import { GailouComments } from './element.ts';

if (!customElements.get('gailou-comments')) {
  customElements.define('gailou-comments', GailouComments);
}
