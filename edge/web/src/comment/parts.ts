/** The parts of a comment that lists, buildings and permalinks draw alike. */

import type { Author, Media } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import { isTombstone, type QuotedComment, type ShownComment } from '../model/shown-comment.ts';
import type { Locale } from '../text/locale.ts';

/** The picture of an author over the first letter of the name, which shows until it is loaded. */
export function avatarOf(author: Author | null, name: string): HTMLDivElement {
  const node = h('div', { class: 'avatar', 'aria-hidden': 'true' });
  const [letter] = name;
  node.append(letter ? letter.toUpperCase() : '·');
  // One lightness for every hue: the white letter has a contrast of 4.5:1 and more.
  node.style.background = `oklch(0.48 0.09 ${hueOf(author?.id || '0')})`;
  const address = author?.avatar ? safeUrl(author.avatar) : null;
  if (address) node.append(avatarImage(address, node));
  return node;
}

function avatarImage(address: string, node: HTMLElement): HTMLImageElement {
  const image = h('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
  image.addEventListener('error', () => image.remove());
  image.addEventListener('load', () => node.replaceChildren(image));
  image.src = address;
  return image;
}

/** The same hue for the same id, in degrees. */
export function hueOf(id: string): number {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) % 100_003;
  return (hash * 47) % 360;
}

/** How long ago a comment was written, as a link to the comment. */
export function timeLink(
  comment: Pick<ShownComment, 'id' | 'created_at'>,
  locale: Locale,
  id?: string,
): HTMLAnchorElement {
  const at = new Date(comment.created_at);
  return h(
    'a',
    { class: 'when', href: `#comment-${comment.id}`, id },
    h(
      'time',
      { datetime: at.toISOString(), title: locale.fullTime(at) },
      locale.timeAgo(comment.created_at),
    ),
  );
}

/** Code, or letters that say which language they are of, or nearly. */
const HAS_DETAILS = /<pre|[\u0400-\u07ff\u3040-\ud7af]/;

/** The text and the pictures of a comment; a sentence in the place of a deleted one. `server` has the pictures. */
export function bodyOf(comment: QuotedComment, locale: Locale, server: string): HTMLDivElement {
  if (isTombstone(comment)) return h('div', { class: 'body gone' }, locale.text.deleted);
  if (!comment.html) return h('div', { class: 'body plain', dir: 'auto' }, comment.content);
  const body = h('div', { class: 'body', dir: 'auto' });
  body.append(safeHtml(comment.html));
  if (comment.mentions?.length || HAS_DETAILS.test(comment.html)) {
    import('../body/enrich.ts').then(({ enrich }) => enrich(body, comment, locale)).catch(() => 0);
  }
  if (comment.media.length > 0) {
    body.append(
      h('div', { class: 'media' }, ...comment.media.map((item) => picture(item, locale, server))),
    );
  }
  return body;
}

/** The longer side of a picture in a comment, in CSS pixels. */
const MAX_PICTURE_SIDE = 320;

/** A picture that keeps its place while it is on its way, and loses it when it is gone; it links to its full size. */
function picture(
  { url, alt, width, height }: Media,
  { text }: Locale,
  server: string,
): HTMLElement | null {
  const address = safeUrl(url, undefined, `${server}/`);
  if (!address) return null;
  const scale = Math.min(1, MAX_PICTURE_SIDE / Math.max(width, height));
  const image = h('img', {
    alt,
    width: Math.round(width * scale),
    height: Math.round(height * scale),
    loading: 'lazy',
    referrerpolicy: 'no-referrer',
  });
  const link = h(
    'a',
    { href: address, target: '_blank', rel: 'noreferrer', 'aria-label': alt ? null : text.picture },
    image,
  );
  image.addEventListener('error', () => link.remove());
  image.src = address;
  return link;
}
