/** Shows the one comment that the address names (`#comment-123`) in the place of the list. */

import { subjectNameOf } from '../api/paths.ts';
import { ApiProblem } from '../api/problem.ts';
import type { CommentContext, Subject } from '../api/wire.ts';
import { chainOf } from '../comment/chain.ts';
import { CommentScope } from '../comment/comment-scope.ts';
import type { CommentView } from '../comment/view.ts';
import { h } from '../dom/html.ts';
import type { Arrivals } from './arrivals.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';
import type { RootList } from './root-list.ts';
import type { SortBar } from './sort-bar.ts';

const COMMENT_HASH = /^#comment-(\d{1,20})$/;

interface PermalinkHost extends ThreadPartHost {
  readonly arrivals: Arrivals;
  readonly reader: ReaderState;
  readonly roots: RootList;
  readonly sortBar: SortBar;
  applySubject(subject: Subject): void;
  showState(): void;
}

export class Permalink {
  /** Why the linked comment is not shown; empty when it is, or when none is linked. */
  notice = '';
  readonly #thread: PermalinkHost;

  constructor(thread: PermalinkHost) {
    this.#thread = thread;
  }

  /** Shows the comment that the address names, else the list; false when it names none. */
  followAddress(): boolean {
    const id = COMMENT_HASH.exec(location.hash)?.[1];
    if (id) this.#open(id);
    else if (this.#thread.comments.linked) this.#close();
    return Boolean(id);
  }

  async #open(id: string): Promise<void> {
    const { api, roots, subject } = this.#thread;
    const signal = roots.beginLoad();
    this.notice = '';
    roots.showBusy(true);
    try {
      const { data, isStale } = await api.context(id, signal);
      if (subjectNameOf(data.data.comment.subject) !== subject) {
        // Another thread of this page has the comment.
        this.#close();
        return;
      }
      this.#show(data.data, isStale);
      roots.showBusy(false);
    } catch (problem) {
      if (!signal.aborted) this.#fail(problem);
    }
  }

  #fail(problem: unknown): void {
    if (!(problem instanceof ApiProblem)) throw problem;
    const { locale, text } = this.#thread;
    this.notice = problem.status === 404 ? text.linkGone : locale.describeProblem(problem);
    this.#close();
  }

  #show(
    { ancestors, comment, siblings, root_page }: CommentContext['data'],
    isStale: boolean,
  ): void {
    const { comments, frame, reader, recent, text } = this.#thread;
    const nearby = h('ol', { role: 'list' });
    const scope = new CommentScope<CommentView>(nearby);
    comments.linked = scope;
    this.#thread.applySubject(root_page.subject);
    const view = comments.makeView(recent.applyTo(comment), scope);
    scope.views.set(comment.id, view);
    view.markAsTarget();
    // The chain is shown above the comment already.
    view.building.button.remove();
    const heading = h('h3', { class: 'around' }, text.around);
    frame.linkedPanel.replaceChildren(
      this.#backButton(),
      h('h3', { class: 'sr' }, text.linked),
      ...this.#chainBelow(comment.id, ancestors),
      h('ol', { role: 'list' }, view.node),
      heading,
      nearby,
    );
    view.replies.showTop(comment);
    for (const each of siblings) {
      if (!scope.views.has(each.id)) comments.place(each, scope);
    }
    heading.hidden = nearby.childElementCount === 0;
    frame.showStale(isStale);
    frame.takeOver();
    this.#showPanels();
    frame.linkedPanel.scrollIntoView({ block: 'start' });
    view.focus();
    reader.loadOverlay([...scope.views.keys()]);
  }

  #chainBelow(id: string, ancestors: CommentContext['data']['ancestors']): HTMLElement[] {
    const below = ancestors.filter((each) => each.id !== id);
    const { api, locale } = this.#thread;
    return below.length > 0 ? [chainOf(below, locale, api.base, { markLast: false })] : [];
  }

  #backButton(): HTMLButtonElement {
    return h(
      'button',
      { type: 'button', class: 'link', on: { click: () => this.#backToAll() } },
      `← ${this.#thread.text.backToAll}`,
    );
  }

  /** Shows either the linked comment or the list. */
  #showPanels(): void {
    const { arrivals, comments, frame, sortBar } = this.#thread;
    const isLinked = comments.linked !== null;
    frame.linkedPanel.hidden = !isLinked;
    frame.list.hidden = isLinked;
    frame.foot.hidden = isLinked;
    sortBar.node.hidden = isLinked;
    arrivals.showCount();
    this.#thread.updateEmpty();
    this.#thread.showState();
  }

  #backToAll(): void {
    const { heading } = this.#thread.frame;
    history.pushState(null, '', location.pathname + location.search);
    this.#close();
    heading.setAttribute('tabindex', '-1');
    heading.focus();
  }

  #close(): void {
    const { comments, frame, roots } = this.#thread;
    comments.linked = null;
    frame.linkedPanel.replaceChildren();
    this.#showPanels();
    if (roots.isLoaded) roots.showBusy(false);
    else roots.loadFirst();
  }
}
