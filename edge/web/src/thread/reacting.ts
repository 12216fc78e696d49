/** The reader's reactions: shown at once, then as the server has taken them. */

import { send } from '../api/send.ts';
import type { Reaction, ReactionState } from '../api/wire.ts';
import type { ThreadPartHost } from './part-host.ts';
import type { ReaderState } from './reader-state.ts';

interface ReactingHost extends ThreadPartHost {
  readonly reader: ReaderState;
}

export class Reacting {
  readonly #thread: ReactingHost;

  constructor(thread: ReactingHost) {
    this.#thread = thread;
  }

  /** Sends the wish unless the server has confirmed it already; resolves to what is confirmed. */
  async sendReaction(
    id: string,
    wanted: Reaction | null,
    confirmed: ReactionState,
  ): Promise<ReactionState> {
    const { api } = this.#thread;
    const kind = wanted ?? confirmed.reaction;
    if (wanted === confirmed.reaction || !kind) return confirmed;
    const path = `/v1/comments/${id}/${kind}`;
    const { data } = await send<ReactionState>(api, wanted ? 'PUT' : 'DELETE', path);
    const { likes, dislikes, reaction } = data;
    this.#thread.recent.rememberCounts(id, { likes, dislikes });
    return { likes, dislikes, reaction };
  }

  showReaction(id: string, { likes, dislikes, reaction }: ReactionState): void {
    const { comments, reader } = this.#thread;
    for (const view of comments.viewsOf(id)) Object.assign(view.comment, { likes, dislikes });
    reader.setReaction(id, reaction);
    comments.updateQuotes(id, (floor) => ({ ...floor, likes }));
  }
}
