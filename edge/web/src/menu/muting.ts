/** Whom the reader has muted on this site: what they write is a line that can be opened, and that ends the mute. */

import type { Author } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { mutedKey } from '../model/muted.ts';
import { authorNameOf, type ShownComment } from '../model/shown-comment.ts';
import { menuText } from '../text/menu.ts';
import { siteStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';
import type { MenuHost } from './host.ts';

/** The oldest ones are forgotten. */
const MAX_MUTED = 500;

export class Muting {
  readonly #host: MenuHost;
  #authors: ReadonlySet<string>;
  /** Comments that the reader has opened for now. */
  readonly #opened = new Set<string>();

  constructor(host: MenuHost) {
    this.#host = host;
    this.#authors = new Set(this.#stored);
  }

  /** From the one who was muted first; another page may have changed it. */
  get #stored(): string[] {
    return siteStorage.get(mutedKey(this.#host.api.base)) ?? [];
  }

  has({ id }: Pick<Author, 'id'>): boolean {
    return this.#authors.has(id);
  }

  set({ id }: Pick<Author, 'id'>, isMuted: boolean): void {
    const key = mutedKey(this.#host.api.base);
    const others = this.#stored.filter((each) => each !== id);
    const authors = isMuted ? [...others, id].slice(-MAX_MUTED) : others;
    if (authors.length > 0) keepIn(siteStorage, key, authors);
    else removeFrom(siteStorage, key);
    this.#authors = new Set(authors);
    this.#opened.clear();
    this.#render();
  }

  /** What stands in the place of a comment whose author the reader has muted; null for another one. */
  placeholder(comment: Pick<ShownComment, 'id' | 'author'>): HTMLElement | null {
    const { id, author } = comment;
    if (!author || !this.has(author) || this.#opened.has(id)) return null;
    const text = menuText(this.#host.locale);
    const name = authorNameOf(comment, this.#host.locale);
    const link = (label: string, act: () => void) =>
      h('button', { type: 'button', class: 'link', on: { click: act } }, label);
    const open = () => {
      this.#opened.add(id);
      this.#render();
      this.#host.comments.viewsOf(id)[0]?.focus();
    };
    const end = () => {
      this.set(author, false);
      this.#host.comments.viewsOf(id)[0]?.focus();
    };
    return h(
      'div',
      { class: 'body muted-note' },
      h('span', {}, text.muted(name)),
      link(text.show, open),
      link(text.unmute(name), end),
    );
  }

  #render(): void {
    for (const view of this.#host.comments.views) {
      view.update(view.comment);
      view.conversation?.render();
    }
  }
}
