/** The threads that the reader watches, the latest first, in a window: each leads to its page, and can be watched no more. */

import { listWatches } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { plainPageUrl } from '../api/public.ts';
import { subjectNameOf } from '../api/subject-name.ts';
import type { WatchedThread } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { AccountDialog } from './dialog.ts';
import { WatchButton } from './watch-button.ts';

export type WatchesHost = Pick<ThreadContext, 'api' | 'locale'>;

/** Shows them; `place` is in the shadow tree. */
export async function openWatches(host: WatchesHost, place: HTMLElement): Promise<void> {
  const { api, locale } = host;
  const own = accountText(locale);
  const dialog = new AccountDialog(own.watches, own.close);
  const list = h('ol', { class: 'watches' });
  const more = h('button', { type: 'button', class: 'button', hidden: true }, own.loadOlder);
  dialog.body.append(list, more);
  dialog.open(place);
  const report = (problem: ApiProblem | null) => {
    dialog.error.textContent = problem && describeProblem(locale, problem);
  };
  const item = (thread: WatchedThread) => {
    const name = thread.title || thread.key;
    const button = new WatchButton(api, subjectNameOf(thread), `${own.watch}: ${name}`, report);
    button.show(true);
    const link = h('a', { href: pageOf(api.base, thread), dir: 'auto' }, name);
    return h('li', {}, link, button.node);
  };
  const load = async (cursor?: string) => {
    report(null);
    try {
      const { data } = await listWatches(api, cursor ? { cursor } : {});
      const { next } = data.page;
      more.hidden = next === null;
      more.onclick = () => load(next ?? undefined);
      list.append(...data.data.map(item));
      if (list.childElementCount === 0) list.append(h('li', {}, own.noWatches));
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      report(problem);
    }
  };
  await load();
}

const pageOf = (base: string, thread: WatchedThread): string =>
  (thread.url && safeUrl(thread.url)) || plainPageUrl(base, subjectNameOf(thread));
