/**
 * Follows the links to a comment (`#comment-123`). One that is on the page is scrolled to and marked
 * for a moment; another one is shown with its building in a panel above the list. The list stays.
 */

import { subjectNameOf } from '../api/paths.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Comment, CommentContext } from '../api/wire.ts';
import { CommentScope } from '../comment/comment-scope.ts';
import type { CommentView } from '../comment/view.ts';
import { h } from '../dom/html.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

const COMMENT_HASH = /^#comment-(\d{1,20})$/;

interface PermalinkHost extends ThreadPartHost {
  readonly reader: ReaderState;
  showState(): void;
}

export class Permalink {
  /** Why the linked comment is not shown; empty when it is, or when none is linked. */
  notice = '';
  readonly #thread: PermalinkHost;
  #load = new AbortController();
  /** Where the reader was when the panel opened. */
  #scrolledTo = 0;

  constructor(thread: PermalinkHost) {
    this.#thread = thread;
    // No history for a place in a page that one has seen already.
    thread.frame.section.addEventListener('click', (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const link = (event.target as Element).closest('a');
      const id = COMMENT_HASH.exec(link?.getAttribute('href') ?? '')?.[1];
      if (!id) return;
      event.preventDefault();
      history.replaceState(history.state, '', `#comment-${id}`);
      this.#open(id);
    });
  }

  /** Shows the comment that the address names, if it names one. */
  followAddress(): void {
    const id = COMMENT_HASH.exec(location.hash)?.[1];
    if (id) this.#open(id);
    else if (this.#thread.comments.linked) this.#close();
  }

  stop(): void {
    this.#load.abort();
  }

  async #open(id: string): Promise<void> {
    const { api, subject } = this.#thread;
    this.#load.abort();
    this.#load = new AbortController();
    const { signal } = this.#load;
    this.#notify('');
    if (this.#showOnPage(id)) return;
    try {
      const { data } = await api.context(id, signal);
      // Another thread of this page may have the comment.
      if (subjectNameOf(data.data.comment.subject) === subject) this.#showPanel(data.data);
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof ApiProblem)) throw problem;
      const { locale, text } = this.#thread;
      this.#notify(problem.status === 404 ? text.linkGone : locale.describeProblem(problem));
    }
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
    view.mark();
    return true;
  }

  #showPanel({ ancestors, comment }: CommentContext['data']): void {
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
    this.#close();
    // In a tree an answer is drawn under what it answers.
    for (const comment of mode === 'tree' ? chain : [root, last]) {
      if (comments.main.views.has(comment.id)) continue;
      comments.place(comment, comments.main, { isKept: true });
    }
    this.#thread.updateEmpty();
    this.#showOnPage(last.id);
  }

  /** Back to where the reader was. */
  #leave(): void {
    history.replaceState(history.state, '', location.pathname + location.search);
    this.#close();
    window.scrollTo({ top: this.#scrolledTo });
    const { heading } = this.#thread.frame;
    heading.setAttribute('tabindex', '-1');
    heading.focus({ preventScroll: true });
  }

  #close(): void {
    const { comments, frame } = this.#thread;
    comments.linked = null;
    frame.linkedPanel.replaceChildren();
    frame.linkedPanel.hidden = true;
  }
}

function linkButton(label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'link', on: { click } }, label);
}
