/** The panel above the list with a linked comment that is not on the page, on its building. */

import '../text/later.ts';
import { subjectNameOf } from '../api/paths.ts';
import { fetchContext } from '../api/place-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Comment, CommentContext } from '../api/wire.ts';
import { CommentScope } from '../comment/comment-scope.ts';
import type { CommentView } from '../comment/view.ts';
import { h } from '../dom/html.ts';
import css from '../style/linked.css';
import { addStyles } from '../style/style-sheet.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

addStyles(css);

export interface LinkedPanelHost extends ThreadPartHost {
  readonly reader: ReaderState;
  showState(): void;
}

interface Follower {
  notify(notice: string): void;
  showOnPage(id: string): boolean;
}

export class LinkedPanel {
  readonly #thread: LinkedPanelHost;
  readonly #follower: Follower;
  #load = new AbortController();
  /** Where the reader was when the panel opened. */
  #scrolledTo = 0;

  constructor(thread: LinkedPanelHost, follower: Follower) {
    this.#thread = thread;
    this.#follower = follower;
  }

  /** Ends what is under way. */
  stop(): void {
    this.#load.abort();
  }

  async open(id: string): Promise<void> {
    const { api, locale, subject, text } = this.#thread;
    this.#load = new AbortController();
    const { signal } = this.#load;
    try {
      const { data } = await fetchContext(api, id, signal);
      // Another thread of this page may have the comment.
      if (subjectNameOf(data.data.comment.subject) === subject) this.#show(data.data);
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof ApiProblem)) throw problem;
      this.#thread.emitProblem(problem);
      const isGone = problem.status === 404;
      this.#follower.notify(isGone ? text.linkGone : locale.describeProblem(problem));
    }
  }

  close(): void {
    const { comments, frame } = this.#thread;
    comments.linked = null;
    frame.linkedPanel.replaceChildren();
    frame.linkedPanel.hidden = true;
  }

  #show({ ancestors, comment }: CommentContext['data']): void {
    const { comments, frame, reader, recent, text } = this.#thread;
    comments.addFloors(ancestors);
    if (!comments.linked) this.#scrolledTo = window.scrollY;
    const scope = new CommentScope<CommentView>(h('ol', { role: 'list' }));
    comments.linked = scope;
    const view = comments.makeView(recent.applyTo(comment), scope);
    scope.views.set(comment.id, view);
    scope.list.append(view.node);
    view.showAnswered('alone');
    view.replies.showTop(comment);
    frame.linkedPanel.replaceChildren(
      h(
        'div',
        { class: 'linked-head' },
        h('h3', {}, text.linked),
        linkButton(text.showInList, () => this.#showInList([...ancestors, comment])),
        linkButton(text.close, () => this.#leave()),
      ),
      scope.list,
    );
    frame.linkedPanel.hidden = false;
    frame.linkedPanel.scrollIntoView({ block: 'start' });
    view.focus({ preventScroll: true });
    reader.loadOverlay([...scope.views.keys()]);
  }

  /** Puts the conversation on top of the list, as far as the list does not have it. */
  #showInList(chain: Comment[]): void {
    const { comments, mode } = this.#thread;
    const [root] = chain;
    const last = chain.at(-1);
    if (!root || !last) return;
    this.close();
    // In a tree an answer is drawn under what it answers.
    for (const comment of mode === 'tree' ? chain : [root, last]) {
      if (comments.main.views.has(comment.id)) continue;
      comments.place(comment, comments.main, { isKept: true })?.replies.showTop(comment);
    }
    this.#thread.updateEmpty();
    this.#follower.showOnPage(last.id);
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
