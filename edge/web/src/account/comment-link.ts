/** A link to a comment of any thread, with the beginning of its text. */

import { fetchSubject, plainPageUrl } from '../api/public.ts';
import { subjectNameOf } from '../api/subject-name.ts';
import type { Comment } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import type { ThreadContext } from '../model/thread-context.ts';

/** Characters that are shown of a comment. */
const EXCERPT_LENGTH = 140;

/**
 * The comment in this thread; else on the page of its subject, which is asked for when the link is followed. `close` is
 * called when it leads to this thread.
 */
export function commentLink(
  { api, subject }: Pick<ThreadContext, 'api' | 'subject'>,
  comment: Comment,
  close: () => void,
): HTMLAnchorElement {
  const name = subjectNameOf(comment.subject);
  const hash = `#comment-${comment.id}`;
  const excerpt = excerptOf(comment);
  if (name === subject) {
    return h('a', { href: hash, dir: 'auto', on: { click: close } }, excerpt);
  }
  const plainPage = plainPageUrl(api.base, name) + hash;
  const follow = async (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const page = await fetchSubject(api.base, name).then(
      ({ data }) => data.url && safeUrl(data.url),
      () => null,
    );
    location.assign(page ? page + hash : plainPage);
  };
  return h('a', { href: plainPage, dir: 'auto', on: { click: follow } }, excerpt);
}

/** What a reader reads, without the marks of its layout. */
function excerptOf({ content, html }: Comment): string {
  const text = html ? (h('div', {}, safeHtml(html)).textContent ?? '') : content;
  const chars = [...text.replace(/\s+/g, ' ').trim()];
  return chars.length > EXCERPT_LENGTH
    ? `${chars.slice(0, EXCERPT_LENGTH).join('')}…`
    : chars.join('');
}
