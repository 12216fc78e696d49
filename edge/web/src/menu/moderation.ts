/** What moderators do beside a comment: shown at once, sent at once, and for some seconds taken back. */

import {
  type CommentDecision,
  decideComment,
  findMute,
  setMute,
  setPin,
  undoDecision,
} from '../api/moderator-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import type { Author, Comment } from '../api/wire.ts';
import type { OwningComment } from '../comment/host.ts';
import { announce } from '../dom/announce.ts';
import { memberOf, moderatorTokenOf } from '../model/member.ts';
import { hasFlag } from '../model/shown-comment.ts';
import { type MenuStrings, menuText } from '../text/menu.ts';
import type { MenuHost } from './host.ts';
import type { MenuGroup, MenuItem } from './menu.ts';
import type { UndoBar, UndoOffer } from './undo-bar.ts';
import { VanishedComment } from './vanished.ts';

const UNDO_OFFER_MS = 10_000;
const MUTE_MS = 7 * 24 * 3_600_000;

/** One thing that can be done. */
interface Act {
  readonly sentence: string;
  show(): void;
  takeBack(): void;
  /** Resolves to what undoes it. */
  send(): Promise<() => Promise<unknown>>;
  /** What had the focus is gone. */
  readonly takesFocus?: boolean;
  returnFocus?(): void;
}

type Flag = Comment['flags'][number];

export class Moderation {
  readonly #host: MenuHost;
  readonly #bar: UndoBar;
  readonly #text: MenuStrings;

  constructor(host: MenuHost, bar: UndoBar) {
    this.#host = host;
    this.#bar = bar;
    this.#text = menuText(host.locale);
  }

  /** What this reader may do about the comment; empty for most readers. */
  itemsFor(view: OwningComment): MenuGroup {
    const { identity, ownerId } = this.#host;
    const text = this.#text;
    const { author } = view.comment;
    const isModerator = moderatorTokenOf(identity) !== null;
    const isOwner = ownerId !== null && memberOf(identity)?.id === ownerId;
    if (!author || !(isModerator || isOwner)) return { items: [] };
    const isPinned = this.#isPinned(view);
    const isFeatured = hasFlag(view.comment, 'featured');
    const isOwn = author.id === memberOf(identity)?.id;
    const item = (label: string, act: () => Act | null): MenuItem => ({
      label,
      act: () => {
        const begun = act();
        if (begun) this.#carryOut(begun, view);
      },
    });
    const pin = item(isPinned ? text.unpin : text.pin, () => this.#pin(view, !isPinned));
    if (!isModerator) return { items: [pin] };
    return {
      label: text.moderation,
      items: [
        pin,
        item(isFeatured ? text.unfeature : text.feature, () => this.#feature(view, !isFeatured)),
        item(text.hide, () => this.#takeOut(view, 'hide')),
        item(text.reject, () => this.#takeOut(view, 'reject')),
        ...(isOwn ? [] : [item(text.muteMember(view.authorName), () => this.#mute(author))]),
        { label: text.openConsole, href: this.#consoleUrl(view.comment.id) },
      ],
    };
  }

  #carryOut(act: Act, view: OwningComment): void {
    const { frame } = this.#host;
    act.show();
    const sent = act.send();
    const offer: UndoOffer = {
      sentence: act.sentence,
      forMs: UNDO_OFFER_MS,
      undo: async () => {
        act.takeBack();
        const undo = await sent.catch(() => null);
        try {
          await undo?.();
          announce(frame, this.#text.undone);
        } catch (problem) {
          act.show();
          this.#report(problem, view);
        }
      },
      takesFocus: act.takesFocus ?? false,
      returnFocus: () => (act.returnFocus ? act.returnFocus() : view.focus()),
    };
    this.#bar.show(offer);
    announce(frame, act.sentence);
    sent.catch((problem) => {
      this.#bar.withdraw(offer);
      act.takeBack();
      this.#report(problem, view);
    });
  }

  /** With what is wrong in detail: a subject has so many pins. */
  #report(problem: unknown, view: OwningComment): void {
    this.#host.report(problem, {
      showMessage: (sentence) => {
        const errors = problem instanceof ApiProblem ? problem.errors : [];
        view.showMessage([sentence, ...errors.map(({ detail }) => detail)].join(' '));
      },
    });
  }

  #isPinned(view: OwningComment): boolean {
    const { comment } = view;
    const isOnTop = this.#host.comments.viewsOf(comment.id).some(({ isPinned }) => isPinned);
    return isOnTop || hasFlag(comment, 'pinned') || hasFlag(comment, 'owner_pinned');
  }

  #pin({ comment: { id } }: OwningComment, isPinned: boolean): Act {
    const { api, comments } = this.#host;
    const show = (isShown: boolean) => {
      for (const view of comments.viewsOf(id)) view.isPinned = isShown;
      this.#setFlags(id, ['pinned', 'owner_pinned'], isShown);
    };
    return {
      sentence: isPinned ? this.#text.done.pin : this.#text.done.unpin,
      show: () => show(isPinned),
      takeBack: () => show(!isPinned),
      send: async () => {
        await setPin(api, id, isPinned);
        return () => setPin(api, id, !isPinned);
      },
    };
  }

  #feature({ comment: { id } }: OwningComment, isFeatured: boolean): Act {
    const action = isFeatured ? 'feature' : 'unfeature';
    return {
      sentence: this.#text.done[action],
      show: () => this.#setFlags(id, ['featured'], isFeatured),
      takeBack: () => this.#setFlags(id, ['featured'], !isFeatured),
      send: async () => (await this.#decide(id, action)).undo,
    };
  }

  /** Takes the comment out of the lists; a rejection of an edit that waits leaves it there. */
  #takeOut({ comment }: OwningComment, action: 'hide' | 'reject'): Act {
    let vanished: VanishedComment | null = null;
    const takeBack = () => {
      vanished?.restore();
      vanished = null;
    };
    return {
      sentence: this.#text.done[action],
      show: () => {
        vanished = new VanishedComment(this.#host, comment);
      },
      takeBack,
      takesFocus: true,
      returnFocus: () => vanished?.focusNear(),
      send: async () => {
        const { decided, undo } = await this.#decide(comment.id, action);
        if (decided.state === 'published') takeBack();
        return undo;
      },
    };
  }

  #mute({ id }: Author): Act {
    const { api } = this.#host;
    return {
      sentence: this.#text.done.muteMember,
      show: () => undefined,
      takeBack: () => undefined,
      send: async () => {
        const { data: before } = await findMute(api, id);
        await setMute(api, id, Date.now() + MUTE_MS);
        return () => setMute(api, id, before.muted_until);
      },
    };
  }

  async #decide(id: string, action: CommentDecision) {
    const { api } = this.#host;
    const { data: decided } = await decideComment(api, id, action);
    return { decided, undo: () => undoDecision(api, decided.audit_id) };
  }

  /** Sets the first flag, or takes all of them away. */
  #setFlags(id: string, flags: [Flag, ...Flag[]], isSet: boolean): void {
    this.#host.comments.updateEach(id, (comment) => {
      const others = (comment.flags ?? []).filter((flag) => !flags.includes(flag));
      return { ...comment, flags: isSet ? [...others, flags[0]] : others };
    });
  }

  #consoleUrl(id: string): string {
    return `${this.#host.api.base}/console#/comments/${id}`;
  }
}
