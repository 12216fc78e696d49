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
 * Attributes: subject, api, lang (BCP 47), theme (light, dark), sort, token, live ("off": without
 * the event stream); on the script tag the same names with `data-`. The property `token` takes a
 * token that the page fetches later. Events: `gailou:count`, `gailou:posted`, `gailou:sign-in`.
 * Colours and shapes: the custom properties --gailou-* in `style/base.css`.
 *
 * Beside the comments: `<gailou-count subject>` and `data-gailou-count` on any element, `<gailou-latest type limit>`,
 * `<gailou-bell>`.
 *
 * It needs no framework and no inline code, so it works under a strict Content-Security-Policy.
 */

import { GailouComments } from './element.ts';
import { mount } from './mount.ts';
import { SCRIPT, SCRIPT_ORIGIN } from './script.ts';
import { findCounts } from './widgets/find-counts.ts';
import { defineLazily } from './widgets/lazy-element.ts';

// A page may have the script once for every thread it shows.
if (!customElements.get('gailou-comments')) {
  customElements.define('gailou-comments', GailouComments);
}
/** The scripts of the other elements, loaded when there is one of them. */
const load = (name: string) => import(`${SCRIPT_ORIGIN}/${name}.js`);
findCounts(() => load('counts').then(({ start }) => start(SCRIPT_ORIGIN)));
defineLazily('gailou-latest', ['api', 'lang', 'limit', 'type'], SCRIPT_ORIGIN, () =>
  load('latest'),
);
defineLazily('gailou-bell', ['api', 'lang', 'token'], SCRIPT_ORIGIN, () => load('bell'));
mount(SCRIPT);
