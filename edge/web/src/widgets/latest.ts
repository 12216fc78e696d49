/** `<gailou-latest type limit>`: the newest comments of all subjects, each with a link to its page. */

import { fetchLatest } from '../api/public.ts';
import type { LatestComment } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import { fullTime } from '../text/full-time.ts';
import type { Locale } from '../text/locale.ts';
import { widgetText } from '../text/widgets.ts';
import type { Widget, WidgetHost } from './lazy-element.ts';
import { WidgetShell } from './shell.ts';

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 50;
/** Characters that are shown of a comment. */
const EXCERPT_LENGTH = 140;

/** `server` is the one of an element that names none. */
export function start(element: WidgetHost, server: string): Widget {
  const shell = new WidgetShell(element);
  let newest = {};
  const load = async () => {
    const asked = {};
    newest = asked;
    const limit = limitOf(element.getAttribute('limit'));
    const [locale, comments] = await Promise.all([
      shell.locale(),
      fetchLatest(shell.serverOr(server), limit, element.getAttribute('type')).then(
        ({ data }) => data.data,
        () => null,
      ),
    ]);
    if (newest !== asked) return;
    const content = comments
      ? listOf(comments, locale)
      : h('p', { class: 'quiet' }, locale.text.loadFailed);
    shell.show(content, locale, widgetText(locale).latestComments);
  };
  load();
  return {
    update: () => void load(),
    stop: () => {
      newest = {};
      shell.stop();
    },
  };
}

function limitOf(written: string | null): number {
  const limit = Number.parseInt(written ?? '', 10);
  return limit >= 1 ? Math.min(limit, MAX_LIMIT) : DEFAULT_LIMIT;
}

function listOf(comments: readonly LatestComment[], locale: Locale): HTMLElement {
  if (comments.length === 0) return h('p', { class: 'quiet' }, widgetText(locale).noComments);
  return h('ol', { class: 'latest', role: 'list' }, ...comments.map((each) => item(each, locale)));
}

function item({ id, author, html, created_at, subject }: LatestComment, locale: Locale) {
  const at = new Date(created_at);
  const page = subject.url && safeUrl(subject.url);
  const excerpt = excerptOf(html);
  return h(
    'li',
    {},
    h(
      'p',
      { class: 'quiet' },
      h('bdi', { class: 'author' }, author?.name || locale.text.anonymous),
      ' · ',
      h(
        'time',
        { datetime: at.toISOString(), title: fullTime(locale, at.toISOString()) },
        locale.timeAgo(created_at),
      ),
    ),
    page
      ? h('a', { class: 'excerpt', href: `${page}#comment-${id}`, dir: 'auto' }, excerpt)
      : h('p', { class: 'excerpt', dir: 'auto' }, excerpt),
    subject.title ? h('p', { class: 'quiet' }, h('bdi', {}, subject.title)) : null,
  );
}

/** The text of a comment without its marks, in one line. */
function excerptOf(html: string): string {
  const body = safeHtml(html);
  for (const node of body.querySelectorAll('br, blockquote, h1, h2, h3, li, p, pre, td')) {
    node.after(' ');
  }
  const chars = [...(body.textContent ?? '').trim().replace(/\s+/g, ' ')];
  return chars.length > EXCERPT_LENGTH
    ? `${chars.slice(0, EXCERPT_LENGTH).join('')}…`
    : chars.join('');
}
