/**
 * Shows a linked comment. One that is on the page is scrolled to and marked for a moment; another one is in a panel above the
 * list, on its building.
 */

import '../text/later.ts';
import { fetchContext } from '../api/place-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { subjectNameOf } from '../api/subject-name.ts';
import type { CommentContext, ListedComment } from '../api/wire.ts';
import type { CommentScope } from '../comment/comment-scope.ts';
import type { CommentView } from '../comment/view.ts';
import { h } from '../dom/html.ts';
import css from '../style/linked.css';
import { addStyles } from '../style/style-sheet.ts';
import { describeProblem } from '../text/describe-problem.ts';
import type { Timer } from '../util/time.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

addStyles(css);

export interface LinkedPanelHost extends ThreadPartHost {
  readonly reader: ReaderState;
  showState(): void;
}

const MARK_MS = 2_000;

export class LinkedPanel {
  /** Why the linked comment is not shown; empty when it is. */
  notice = '';
  readonly #thread: LinkedPanelHost;
  readonly #node = h('div', { class: 'linked', hidden: true });
  #load = new AbortController();
  readonly #markTimers = new WeakMap<HTMLElement, Timer>();
  /** Where the reader was when the panel opened. */
  #scrolledTo = 0;

  constructor(thread: LinkedPanelHost) {
    this.#thread = thread;
    thread.frame.list.before(this.#node);
  }

  /** Ends what is under way. */
  stop(): void {
    this.#load.abort();
  }

  async show(id: string): Promise<void> {
    this.#notify('');
    this.stop();
    if (!this.#showOnPage(id)) await this.#open(id);
  }

  #notify(notice: string): void {
    this.notice = notice;
    this.#thread.showState();
    if (notice) this.#thread.frame.notice.scrollIntoView({ block: 'nearest' });
  }

  /** False when the comment has no place of its own on the page. */
  #showOnPage(id: string): boolean {
    const view = this.#thread.comments.viewsOf(id)[0];
    if (!view) return false;
    view.focus({ preventScroll: true });
    view.node.scrollIntoView({ block: 'center' });
    view.node.classList.add('target');
    clearTimeout(this.#markTimers.get(view.node));
    const unmark = () => view.node.classList.remove('target');
    this.#markTimers.set(view.node, setTimeout(unmark, MARK_MS));
    return true;
  }

  async #open(id: string): Promise<void> {
    const { api, locale, subject, text } = this.#thread;
    this.#load = new AbortController();
    const { signal } = this.#load;
    try {
      const { data } = await fetchContext(api, id, signal);
      // Another thread of this page may have the comment.
      if (subjectNameOf(data.data.root_page.subject) === subject) this.#showPanel(data.data);
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof ApiProblem)) throw problem;
      this.#thread.emitProblem(problem);
      const isGone = problem.status === 404;
      this.#notify(isGone ? text.linkGone : describeProblem(locale, problem));
    }
  }

  /** After Back, the browser has scrolled to where the reader was in the list without the panel: that stays. */
  close(): void {
    this.stop();
    if (this.#node.hidden) return;
    const { scrollX, scrollY } = window;
    this.#thread.comments.linked = null;
    this.#node.replaceChildren();
    this.#node.hidden = true;
    if (!location.hash) window.scrollTo({ left: scrollX, top: scrollY, behavior: 'instant' });
  }

  #showPanel({ ancestors, comment }: CommentContext['data']): void {
    const { comments, reader, recent, text } = this.#thread;
    comments.addFloors(ancestors);
    if (!comments.linked) this.#scrolledTo = window.scrollY;
    const scope: CommentScope<CommentView> = { list: h('ol', { role: 'list' }), views: new Map() };
    comments.linked = scope;
    const view = comments.makeView(recent.applyTo(comment), scope);
    scope.views.set(comment.id, view);
    scope.list.append(view.node);
    view.showAnswered('alone');
    view.showReplies(comment);
    this.#node.replaceChildren(
      h(
        'div',
        { class: 'linked-head' },
        h('h3', {}, text.linked),
        linkButton(text.showInList, () => this.#showInList([...ancestors, comment])),
        linkButton(text.close, () => this.#leave()),
      ),
      scope.list,
    );
    this.#node.hidden = false;
    this.#node.scrollIntoView({ block: 'start' });
    view.focus({ preventScroll: true });
    reader.loadOverlay([...scope.views.keys()]);
  }

  /** Puts the conversation on top of the list, as far as the list does not have it. */
  #showInList(chain: ListedComment[]): void {
    const { comments, mode } = this.#thread;
    const [root] = chain;
    const last = chain.at(-1);
    if (!root || !last) return;
    this.close();
    // In a tree an answer is drawn under what it answers.
    for (const comment of mode === 'tree' ? chain : [root, last]) {
      if (comments.main.views.has(comment.id)) continue;
      comments.place(comment, comments.main, { isKept: true })?.showReplies(comment);
    }
    this.#thread.updateEmpty();
    this.#showOnPage(last.id);
  }

  /** Back to where the reader was. */
  #leave(): void {
    history.replaceState(history.state, '', location.pathname + location.search);
    this.close();
    window.scrollTo({ top: this.#scrolledTo });
    const { heading } = this.#thread.frame;
    heading.setAttribute('tabindex', '-1');
    heading.focus({ preventScroll: true });
  }
}

function linkButton(label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'link', on: { click } }, label);
}
