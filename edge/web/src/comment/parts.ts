/** The parts of a comment that lists, buildings and permalinks draw alike. */

import type { Author, Media } from '../api/wire.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import { make, type Properties } from '../dom/template.ts';
import { isTombstone, type QuotedComment } from '../model/shown-comment.ts';
import type { Locale } from '../text/locale.ts';

/** The picture of an author over the first letter of the name, which shows until it is loaded. */
export function showAuthor(node: HTMLElement, author: Author | null, name: string): void {
  const [letter = '·'] = name;
  node.textContent = letter.toUpperCase();
  // One lightness for every hue: the white letter has a contrast of 4.5:1 and more.
  node.style.background = `oklch(0.48 0.09 ${hueOf(author?.id || '0')})`;
  const address = author?.avatar ? safeUrl(author.avatar) : null;
  if (!address) return;
  const image = imageOf(address, {
    // A picture that another one has taken the place of stays away.
    onload: () => image.parentNode && node.replaceChildren(image),
    onerror: () => image.remove(),
  });
  node.append(image);
}

/** The address is set last, when all is known that it is fetched with. */
const imageOf = (src: string, properties: Properties<'img'>): HTMLImageElement =>
  make('img', { alt: '', loading: 'lazy', referrerPolicy: 'no-referrer', ...properties, src });

/** The same hue for the same id, in degrees. */
export function hueOf(id: string): number {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) % 100_003;
  return (hash * 47) % 360;
}

/** Code, aligned columns, what may be a sticker, a task, or letters that say which language they are of, or nearly. */
const HAS_DETAILS = /<pre| align|:\S+:|[☐☑\u0400-\u07ff\u3040-\ud7af]/;

/** The text and the pictures of a comment; a sentence in the place of a deleted one. `server` has the pictures. */
export function bodyOf(comment: QuotedComment, locale: Locale, server: string): HTMLElement {
  if (isTombstone(comment)) return bodyWith('body gone', locale.text.deleted);
  const { content, html, media, mentions } = comment;
  if (!html) return bodyWith('body plain', content ?? '');
  const body = bodyWith('body', safeHtml(html));
  if (mentions?.length || HAS_DETAILS.test(html)) {
    import('../body/enrich.ts')
      .then(({ enrich }) => enrich(body, comment, locale, server))
      .catch(() => 0);
  }
  if (media?.length) {
    const pictures = make('div', { className: 'media' });
    pictures.append(...media.flatMap((item) => picture(item, locale, server) ?? []));
    body.append(pictures);
  }
  return body;
}

function bodyWith(className: string, content: string | Node): HTMLElement {
  const body = make('div', { className, part: 'body', dir: 'auto' });
  body.append(content);
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
  const href = safeUrl(url, undefined, `${server}/`);
  if (!href) return null;
  const scale = Math.min(1, MAX_PICTURE_SIDE / Math.max(width, height));
  const link = make('a', { href, target: '_blank', rel: 'noreferrer' });
  if (!alt) link.ariaLabel = text.picture;
  link.append(
    imageOf(href, {
      alt,
      width: Math.round(width * scale),
      height: Math.round(height * scale),
      onerror: () => link.remove(),
    }),
  );
  return link;
}
