/**
 * Gailou (盖楼): comments for any page, in one request.
 *
 *   <script src="https://comments.example/gailou.js" data-subject="article/hello"></script>
 *
 * or, where the comments belong elsewhere on the page:
 *
 *   <gailou-comments subject="article/hello"></gailou-comments>
 *
 * What the server rendered (`/t/article/hello?fragment=1`) may be inside the element, or before the
 * script tag. It is shown until the comments are loaded, and nothing moves when they are.
 *
 * Attributes: subject, api, lang (en, zh), theme (light, dark), sort, token, live ("off": without
 * the event stream); on the script tag the same names with `data-`. The property `token` takes a
 * token that the page fetches later. Events: `gailou:count`, `gailou:posted`, `gailou:sign-in`.
 * Colours and shapes: the custom properties --gailou-* in `style/base.css`.
 *
 * It needs no framework and no inline code, so it works under a strict Content-Security-Policy.
 */

import { GailouComments } from './element.ts';
import { mount } from './mount.ts';
import { SCRIPT } from './script.ts';

// A page may have the script once for every thread it shows.
if (!customElements.get('gailou-comments')) {
  customElements.define('gailou-comments', GailouComments);
}
mount(SCRIPT);
