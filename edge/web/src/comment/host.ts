/**
 * What the parts of one comment need from above: their comment, and the thread around it. Only
 * types: `CommentView` and `CommentThread` have the values.
 */

import type { ListPage } from '../api/pager.ts';
import type { ListedComment, OverlayEntry, Reaction, ReactionState } from '../api/wire.ts';
import type { Composer, ComposerHost } from '../composer/composer.ts';
import type * as Forms from '../composer/forms.ts';
import type { Announcing } from '../dom/announce.ts';
import type { QuotedComment, ShownComment } from '../model/shown-comment.ts';
import type { ThreadContext } from '../model/thread-context.ts';

/** The comment that a part belongs to. */
export interface OwningComment {
  readonly comment: ShownComment;
  /** What the reader did to the comment, and may do. */
  readonly own: Readonly<OverlayEntry>;
  readonly authorName: string;
  readonly article: HTMLElement;
  readonly time: HTMLTimeElement;
  /** Who sees a comment that not everyone sees. */
  readonly state: HTMLElement;
  /** Where the frames of its building are drawn. */
  readonly frames: HTMLElement;
  /** Opens the frames where they are not drawn by themselves. */
  readonly expander: HTMLButtonElement;
  /** Holds at most one form. */
  readonly slot: HTMLElement;
  readonly reply: HTMLButtonElement;
  readonly rest: HTMLButtonElement;
  /** Null until the reader replies to the comment, or may change it. */
  forms: OpenedForms | null;
  /** Null until the reader asks for all replies. */
  allReplies: { showNext(): Promise<void> } | null;
  /** Null until frames are drawn. */
  conversation: DrawnConversation | null;
  /** Draws frames as soon as what draws them is loaded. */
  useConversation(action: (conversation: DrawnConversation) => unknown): Promise<void>;
  focus(): void;
  hideBody(isHidden: boolean): void;
  renderActions(): void;
  /** A problem with what the reader did to this comment; an empty text takes it away. */
  showMessage(message: string): void;
}

/** The conversation below a comment, as frames inside each other. */
export interface DrawnConversation {
  drawByItself(isDrawn: boolean, isAlone: boolean): Promise<void>;
  render(): void;
  toggle(): Promise<void>;
  /** Shows what is new about a floor, if it is drawn. */
  updateFloor(id: string): void;
}

interface OpenedForms {
  /** Shows what the reader may do to the comment. */
  render(): void;
  openReply(): void;
}

/** What a reader does to a comment. */
export interface CommentActs {
  /** Does what the `data-act` of the button says. */
  press(view: OwningComment, button: HTMLElement): unknown;
  /** Shows what the reader may do to the comment, and who sees it. */
  render(view: OwningComment): void;
}

export interface PlacedReply {
  readonly node: HTMLElement;
  focus(): void;
}

/** The thread that a comment is drawn in. What acts on the comment is loaded later. */
export interface DrawnHost extends Omit<ThreadContext, 'recent'> {
  /** Whether one can write here. */
  readonly isOpen: boolean;
  /** Null while the reader has muted no author. */
  readonly muting: AuthorMuting | null;
  /** The member that the subject belongs to. */
  readonly ownerId: string | null;
  /** Null before it is loaded. */
  readonly later: LaterHost | null;
  /** Loads what acts; rejects where it cannot be loaded. A second call costs nothing. */
  complete(): Promise<LaterHost>;
  /** Carries out a press as soon as what acts is loaded; where it cannot be loaded, `place` says so. */
  act(place: MessagePlace, action: (later: LaterHost) => unknown): Promise<void>;
}

/** What a thread has as soon as it is used, or its reader is known. */
export interface LaterHost {
  readonly thread: CommentHost;
  readonly acts: CommentActs;
  readonly reader: OverlaySource;
  readonly recent: ThreadContext['recent'];
}

/** The thread that a comment is used in. */
export interface CommentHost extends ComposerHost {
  /** Whether one can write here. */
  readonly isOpen: boolean;
  /** The open forms. */
  readonly composers: Set<Composer>;
  readonly frame: ReplyAnnouncer;
  readonly reader: ComposerHost['reader'] & OverlaySource;
  readonly comments: ComposerHost['comments'] & FloorSource;
  readonly reacting: CommentReactions;
  /** Null while the reader has muted no author. */
  readonly muting: AuthorMuting | null;
  /** The member that the subject belongs to. */
  readonly ownerId: string | null;
  /** A reader who is unknown becomes a guest without a name; false, and `place` says why, when that failed. */
  becomeGuest(place: MessagePlace): Promise<boolean>;
  /** Loads the menus; where that is impossible, `place` says so. */
  useMenus(place: MessagePlace, use: (menus: CommentMenus) => void): Promise<void>;
  /** What is on its way; null, and `place` says so, where it cannot be loaded. */
  loaded<Part>(loading: Promise<Part>, place: MessagePlace): Promise<Part | null>;
  /** Loads the forms, and what `writing` has; rejects where that is impossible. */
  loadForms(): Promise<typeof Forms>;
  /** Shows at a comment what went wrong there; throws what is no `ApiProblem`. */
  report(problem: unknown, place: MessagePlace): void;
}

interface FloorSource {
  /** A comment as others quote it; undefined while it is not known. */
  floorOf(id: string): QuotedComment | undefined;
  addFloors(comments: ListedComment[]): void;
  /** Shows a page of replies under their comment; those on the page keep their places. Answers the others. */
  placeReplies(under: OwningComment, replies: ListedComment[]): PlacedReply[];
  /** What a page brings, before its comments are placed. */
  addPage(page: Pick<ListPage, 'items' | 'floors'>): Promise<void>;
}

interface ReplyAnnouncer extends Announcing {
  showStale(isStale: boolean): void;
}

interface OverlaySource {
  overlayEntry(id: string): Readonly<OverlayEntry>;
  loadOverlay(ids: string[]): Promise<void>;
}

/** Where the reader reads what went wrong. */
export type MessagePlace = Pick<OwningComment, 'showMessage'>;

/** What opens beside a comment. */
export interface CommentMenus {
  openMenu(view: OwningComment, opener: HTMLElement): void;
  /** What is known of the author of `comment`. */
  openCard(comment: Pick<ShownComment, 'author'>, opener: HTMLElement): void;
  deleteComment(view: OwningComment): void;
}

interface AuthorMuting {
  /** What stands in the place of a comment whose author the reader has muted; null for another one. */
  placeholder(comment: Pick<ShownComment, 'id' | 'author'>): HTMLElement | null;
}

interface CommentReactions {
  sendReaction(
    id: string,
    wanted: Reaction | null,
    confirmed: ReactionState,
  ): Promise<ReactionState>;
  showReaction(id: string, state: ReactionState): void;
}
