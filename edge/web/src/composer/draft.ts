/**
 * The text of a composer and the idempotency key it was sent with. It is kept in the tab, so a post
 * whose outcome is unknown stays safe to repeat even after a reload.
 */

import { newIdempotencyKey } from '../api/retry.ts';
import type { MemberName } from '../api/wire.ts';
import type { JsonStorage } from '../util/json-storage.ts';
import { keepIn, removeFrom } from '../util/keep.ts';
import { draftKey } from './draft-key.ts';

interface StoredDraft {
  text: string;
  key: string | null;
  /** Whom the reader has picked to mention. */
  picked?: MemberName[];
  /** The name that a guest has typed and not yet posted with. */
  name?: string;
}

export class ComposerDraft {
  /** Whom the reader has picked to mention, whether the text still names them or not. */
  picked: MemberName[] = [];
  /** The name that a guest has typed and not yet posted with. */
  name = '';
  readonly #storage: JsonStorage;
  readonly #storageKey: string;
  /** The last text that was sent, with the ids of its pictures, and its key. */
  #sent: { text: string; media: string; key: string } | null = null;

  /** `scope` names the thread, and the parent or the edited comment. */
  constructor(storage: JsonStorage, scope: string) {
    this.#storage = storage;
    this.#storageKey = draftKey(scope);
  }

  /** The stored text; null when there is none. */
  restore(): string | null {
    const draft = this.#storage.get<StoredDraft>(this.#storageKey);
    if (!draft) return null;
    this.picked = draft.picked ?? [];
    this.name = draft.name ?? '';
    if (draft.key) this.#sent = { text: draft.text.trim(), media: '', key: draft.key };
    return draft.text;
  }

  /** A text that differs from the sent one loses its key; after a reload it has no pictures. */
  save(text: string): void {
    const isSent = this.#sent?.text === text.trim() && !this.#sent.media;
    const key = isSent ? (this.#sent?.key ?? null) : null;
    if (!text) {
      this.picked = [];
      removeFrom(this.#storage, this.#storageKey);
      return;
    }
    const { name, picked } = this;
    const draft: StoredDraft = {
      text,
      key,
      ...(picked.length > 0 && { picked }),
      ...(name && { name }),
    };
    keepIn(this.#storage, this.#storageKey, draft);
  }

  /** The key for sending `content` with pictures: the same one as long as both are the same. */
  keyFor(content: string, media: string[] = []): string {
    const ids = media.join();
    if (this.#sent?.text !== content || this.#sent.media !== ids) {
      this.#sent = { text: content, media: ids, key: newIdempotencyKey() };
    }
    return this.#sent.key;
  }

  forgetKey(): void {
    this.#sent = null;
  }
}
