/**
 * What depends on the reader: own reactions and rights (the overlay), own posts that a cached list
 * does not show yet, and the token. Lists are the same for every reader; this is applied on top.
 */

import type { ReaderAccount } from '../account/account.ts';
import { fetchOverlay, ownComment } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { subjectNameOf } from '../api/subject-name.ts';
import type { Comment, Guest, Overlay, OverlayEntry } from '../api/wire.ts';
import type { Composer } from '../composer/composer.ts';
import { dropGuest, kindOf, memberOf } from '../model/member.ts';
import { isTombstone, NO_OVERLAY_ENTRY } from '../model/shown-comment.ts';
import type { HostToken } from './host-token.ts';
import type { ThreadPartHost } from './part-host.ts';

/** The contract's limit for one call. */
const MAX_OVERLAY_IDS = 400;

interface ReaderStateHost extends ThreadPartHost {
  readonly reader: ReaderState;
  readonly composers: ReadonlySet<Composer>;
  readonly account: ReaderAccount;
  readonly hostToken: Pick<HostToken, 'fetch' | 'isFetched'>;
  showState(): void;
}

export class ReaderState {
  /** What has become of the reader; empty where there is nothing to say. */
  notice = '';
  readonly #thread: ReaderStateHost;
  readonly #overlay = new Map<string, Readonly<OverlayEntry>>();
  /** When the reader last reacted to a comment, on the clock of `performance.now()`. */
  readonly #reactedAtMs = new Map<string, number>();
  /** Whose comments are shown that others do not see. */
  #memberId: string | undefined;

  constructor(thread: ReaderStateHost) {
    this.#thread = thread;
    this.#memberId = memberOf(thread.identity)?.id;
  }

  overlayEntry(id: string): Readonly<OverlayEntry> {
    return this.#overlay.get(id) ?? NO_OVERLAY_ENTRY;
  }

  setOverlayEntry(id: string, changes: Partial<OverlayEntry>): void {
    const entry = { ...this.overlayEntry(id), ...changes };
    this.#overlay.set(id, entry);
    for (const view of this.#thread.comments.viewsOf(id)) view.applyOverlay(entry);
  }

  setReaction(id: string, reaction: OverlayEntry['reaction']): void {
    this.#reactedAtMs.set(id, performance.now());
    this.setOverlayEntry(id, { reaction });
  }

  /** Fetches the overlay of these comments; without it a list is still readable. */
  async loadOverlay(ids: string[]): Promise<void> {
    const { api, identity } = this.#thread;
    const { token } = identity;
    if (!token || token === identity.refusedToken) return;
    const startedAtMs = performance.now();
    const listed = [...new Set(ids)];
    // Without ids too: the answer also has the reader's posts that no list shows.
    for (let at = 0; at === 0 || at < listed.length; at += MAX_OVERLAY_IDS) {
      try {
        const { data } = await fetchOverlay(api, listed.slice(at, at + MAX_OVERLAY_IDS));
        if (token !== identity.token) return;
        this.#applyOverlay(data, startedAtMs);
      } catch (problem) {
        // The page may have given another token meanwhile.
        const isOfReader = token === identity.token;
        if (isOfReader && problem instanceof ApiProblem) this.dropRefusedToken(problem);
        return;
      }
    }
  }

  #applyOverlay({ data, pending }: Overlay, startedAtMs: number): void {
    for (const [id, entry] of Object.entries(data)) {
      // A reaction given while the answer was under way is the newer one.
      const isNewer = (this.#reactedAtMs.get(id) ?? 0) > startedAtMs;
      const { reaction } = isNewer ? this.overlayEntry(id) : entry;
      this.setOverlayEntry(id, { ...entry, reaction });
    }
    for (const comment of pending) this.#showPending(comment);
    this.#thread.updateEmpty();
  }

  /** Shows a comment of the reader that others do not see, or see with a former text. */
  #showPending(comment: Comment): void {
    const { comments, subject } = this.#thread;
    const views = comments.viewsOf(comment.id);
    if (views.length > 0) {
      // The list has it: an edit of it waits for a moderator.
      if (comment.state === 'review') for (const view of views) view.update(comment);
      return;
    }
    if (subjectNameOf(comment.subject) !== subject) return;
    this.setOverlayEntry(comment.id, { can_edit: false, can_delete: true });
    comments.place(comment, comments.main, { isKept: true });
  }

  /** Shows own posts of the last moments that the list, perhaps a cached page, does not have. */
  showRecentPosts(): void {
    const { comments, recent } = this.#thread;
    for (const comment of recent.posts()) {
      if (comments.main.views.has(comment.id)) continue;
      comments.place(comment, comments.main, { isKept: true });
      this.#check(comment.id);
    }
  }

  /** Shows a comment as the reader may see it; one that is not there for the reader is removed. */
  async #check(id: string): Promise<void> {
    const { api, comments, recent } = this.#thread;
    try {
      const { data } = await ownComment(api, id);
      if (!isTombstone(data) && data.state !== 'rejected') {
        for (const view of comments.viewsOf(id)) view.update(recent.applyTo(data));
        return;
      }
    } catch (problem) {
      if (!(problem instanceof ApiProblem) || problem.status !== 404) return;
    }
    recent.forgetPost(id);
    comments.remove(id);
    this.#thread.updateEmpty();
  }

  onIdentityChange(): void {
    const { account, comments, composers } = this.#thread;
    for (const composer of composers) composer.showIdentity();
    account.onIdentityChange();
    this.#overlay.clear();
    for (const view of comments.views) view.applyOverlay(NO_OVERLAY_ENTRY);
    this.#hideFormerReaders();
    this.loadOverlay(comments.views.map(({ comment }) => comment.id));
  }

  /** Takes away what only the reader before could see. A guest who signs in stays who they are. */
  #hideFormerReaders(): void {
    const { comments, identity } = this.#thread;
    const [former, member] = [this.#memberId, memberOf(identity)?.id];
    this.#memberId = member;
    if (!former || former === member || former === identity.guest?.member.id) return;
    for (const { comment } of comments.views) {
      if (comment.state !== 'review' && comment.visibility !== 'self') continue;
      // Others see the text from before an edit that waits.
      if (comment.floor === null) comments.remove(comment.id);
      else this.#check(comment.id);
    }
    this.#thread.updateEmpty();
  }

  /** What a guest wrote is the reader's by now. Where that cannot be shown, the next list shows it. */
  onMerge(guest: Guest): void {
    import('./merge.ts')
      .then(({ showMerge }) => showMerge(this.#thread, guest))
      .catch(() => undefined);
  }

  /** Asks the host page for another token. */
  askToSignIn(): void {
    const { hostToken } = this.#thread;
    this.#thread.emit('gailou:sign-in', { code: 'token_invalid' });
    if (hostToken.isFetched) hostToken.fetch();
  }

  /** Forgets a token that the server refuses; true for a guest's: the guest can give a name again. */
  dropRefusedToken(problem: ApiProblem): boolean {
    if (!['token_invalid', 'token_missing'].includes(problem.code)) return false;
    const { composers, identity } = this.#thread;
    if (kindOf(identity) === 'host') {
      identity.refusedToken = identity.hostToken;
      for (const composer of composers) composer.showIdentity();
      this.#thread.emit('gailou:sign-in', { code: problem.code });
      return false;
    }
    // A session that could not be renewed is gone already.
    if (kindOf(identity) !== 'guest') return false;
    dropGuest(identity);
    this.onIdentityChange();
    return true;
  }
}
