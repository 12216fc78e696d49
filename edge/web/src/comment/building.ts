/**
 * The building that a comment stands on: what it answers, down to the ground floor, as frames inside
 * each other. Where a mode shows none, the line "replying to …" opens it in place.
 */

import { h } from '../dom/html.ts';
import type { Conversation } from './conversation.ts';
import type { DrawnHost, OwningComment } from './host.ts';

let frames: typeof import('./conversation.ts') | null = null;

/** Loads what draws frames; a list that has some waits for it, so that nothing moves. */
export async function loadFrames(thread: Pick<DrawnHost, 'complete'>): Promise<boolean> {
  const loading = Promise.all([import('./conversation.ts'), thread.complete()]);
  frames ??= await loading.then(([part]) => part).catch(() => null);
  return frames !== null;
}

export class Building {
  readonly node = h('div', { hidden: true });
  /** Opens the frames where they are not drawn by themselves. */
  readonly toggle: HTMLButtonElement;
  readonly #thread: DrawnHost;
  readonly #view: OwningComment;
  /** Null until frames are drawn. */
  #conversation: Conversation | null = null;

  constructor(thread: DrawnHost, view: OwningComment) {
    this.#thread = thread;
    this.#view = view;
    const { parent_id, path } = view.comment;
    // In a flat list a path is the comment alone.
    const floors = path.length > 1 || !parent_id ? path.length : 2;
    this.toggle = h(
      'button',
      {
        type: 'button',
        class: 'link',
        'aria-expanded': 'false',
        on: { click: () => this.#use((conversation) => conversation.toggle()) },
      },
      thread.text.showFloors(floors),
    );
  }

  /** Whether the frames are drawn without being asked for. */
  drawByItself(isDrawn: boolean, isAlone: boolean): void {
    this.toggle.hidden = isDrawn;
    if (!isDrawn && !this.#conversation) return;
    this.#use((conversation) => conversation.drawByItself(isDrawn, isAlone));
  }

  render(): void {
    this.#conversation?.render();
  }

  /** Shows what is new about a floor, if it is drawn. */
  updateFloor(id: string): void {
    this.#conversation?.updateFloor(id);
  }

  /** At once where the frames are loaded, so that nothing moves. */
  #use(action: (conversation: Conversation) => unknown): void {
    const { later, text } = this.#thread;
    if (frames && later) {
      this.#conversation ??= new frames.Conversation(later.thread, this.#view, this);
      action(this.#conversation);
      return;
    }
    loadFrames(this.#thread).then((isLoaded) => {
      if (isLoaded) this.#use(action);
      else this.#view.showMessage(text.errors.network);
    });
  }
}
