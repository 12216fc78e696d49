/** What the reader has written in all threads, newest first, in a window; also what a moderator is still to decide on. */

import { fetchOverlay, listMemberComments } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Comment } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import type { Strings } from '../text/en.ts';
import { menuText } from '../text/menu.ts';
import { commentLink } from './comment-link.ts';
import { AccountDialog } from './dialog.ts';
import { OwnHistory } from './own-history.ts';

const PAGE_SIZE = 20;

export type OwnCommentsHost = Pick<ThreadContext, 'api' | 'locale' | 'subject' | 'text'>;

/** Shows those of the member with this id; `place` is in the shadow tree. */
export async function openOwnComments(
  host: OwnCommentsHost,
  id: string,
  place: HTMLElement,
): Promise<void> {
  const { api, locale } = host;
  const own = accountText(locale);
  const dialog = new AccountDialog(own.myComments, own.close);
  const list = h('ol', { class: 'own-comments', 'aria-busy': 'true' });
  const more = h('button', { type: 'button', class: 'button', hidden: true }, own.loadOlder);
  dialog.body.append(list, more);
  dialog.open(place);
  // Without what is in no list, the others are still there.
  const pending = await fetchOverlay(api, []).then(
    ({ data }) => data.pending,
    () => [],
  );
  const history = new OwnHistory(pending);
  const load = async (cursor?: string) => {
    dialog.error.textContent = '';
    more.disabled = true;
    try {
      const { data } = await listMemberComments(api, id, PAGE_SIZE, cursor);
      const { next } = data.page;
      const comments = history.addPage(data.data, next === null);
      list.append(...comments.map((comment) => item(host, comment, () => dialog.close())));
      if (list.childElementCount === 0 && !next)
        list.append(h('li', {}, menuText(locale).noComments));
      more.hidden = !next;
      more.onclick = () => load(next ?? undefined);
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      dialog.error.textContent = describeProblem(locale, problem);
      more.hidden = false;
      more.onclick = () => load(cursor);
    }
    more.disabled = false;
    list.removeAttribute('aria-busy');
  };
  await load();
}

function item(host: OwnCommentsHost, comment: Comment, close: () => void): HTMLElement {
  const { locale, text } = host;
  const mark = audienceOf(comment, text);
  return h(
    'li',
    {},
    h('p', {}, locale.timeAgo(comment.created_at), mark && ' · ', mark),
    commentLink(host, comment, close),
  );
}

/** Who sees it, where that is its author alone. */
function audienceOf({ state, visibility }: Comment, text: Strings): string {
  if (state === 'review') return text.review;
  if (state === 'rejected') return text.rejected;
  return visibility === 'self' ? text.selfOnly : '';
}
