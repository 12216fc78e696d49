/**
 * The shapes of the HTTP contract that the element uses. Only types: nothing here exists at run time.
 *
 * Ids are decimal strings, times are milliseconds since the Unix epoch. An answer may have more
 * fields than these; the element ignores them.
 */

export interface SubjectName {
  type: string;
  key: string;
}

/** Where the comments of a subject are shown, as its site has registered it. */
export interface SubjectPage extends SubjectName {
  title: string | null;
  url: string | null;
}

export interface MemberName {
  id: string;
  name: string;
}

export interface Author extends MemberName {
  avatar: string | null;
  level: number | null;
  guest: boolean;
  role: 'moderator' | 'admin' | null;
}

/** `url` is relative to the address of the server. */
export interface Media {
  id: string;
  url: string;
  width: number;
  height: number;
  alt: string;
}

export type CommentState = 'published' | 'review' | 'rejected' | 'hidden' | 'deleted';

/** A comment as a compact list has it. */
export interface ListedComment {
  id: string;
  /** Null of a deleted comment. */
  author: Author | null;
  parent_id: string | null;
  root_id: string;
  /** The author of the parent; null of a root, and when the parent is deleted. */
  reply_to: MemberName | null;
  /** The ids from the root to the comment itself; in a building alone. */
  path?: string[];
  /** The depth, but at most what the subject's mode draws. */
  level: number;
  /** From 1; null until the comment is first published. */
  floor: number | null;
  html: string;
  /** Left out where it would be empty. */
  mentions?: MemberName[];
  /** Left out where it would be empty. */
  media?: Media[];
  state: CommentState;
  visibility: 'everyone' | 'self';
  flags: ('pinned' | 'owner_pinned' | 'featured' | 'edited')[];
  likes: number;
  dislikes: number;
  /** Visible descendants. */
  replies: number;
  created_at: number;
  edited_at: number | null;
  /** On roots in lists: the first replies, and how many more there are. */
  top_replies?: ListedComment[];
  more_replies?: number;
}

/** A comment as all other calls have it. */
export interface Comment extends ListedComment {
  subject: SubjectName;
  path: string[];
  /** The text as written. */
  content: string;
  mentions: MemberName[];
  media: Media[];
}

export type SubjectMode = 'tree' | 'two_level' | 'flat' | 'building';

export interface Subject extends SubjectName {
  owner_id: string | null;
  mode: SubjectMode;
  state: 'open' | 'closed' | 'hidden';
  comments: number;
  pinned: ListedComment[];
  /** Whether readers may see the earlier texts of edited comments. */
  earlier_texts?: boolean;
}

/** A text that an edit has replaced. */
export interface EarlierText {
  content: string;
  replaced_at: number;
}

/** A comment as those above it quote it. */
export interface QuotedFloor {
  /** Null of a deleted comment. */
  author: Author | null;
  html: string;
  media?: Media[];
  likes: number;
  created_at: number;
  state: CommentState;
}

export interface Page {
  data: ListedComment[];
  page: { next: string | null; epoch: string };
  subject: Subject;
  /** By comment id: what the comments of a building quote that is not on the page itself. */
  floors?: Record<string, QuotedFloor>;
}

/** A comment of the newest of all subjects. */
export interface LatestComment extends Comment {
  subject: SubjectPage;
}

export interface SubjectCounts {
  roots: number;
  comments: number;
}

export interface Ancestors {
  /** The root first, the comment itself last. */
  data: Comment[];
}

/** What a permalink needs. */
export interface CommentContext {
  data: {
    ancestors: ListedComment[];
    comment: ListedComment;
    siblings: ListedComment[];
    root_page: Page;
  };
}

export type Reaction = 'like' | 'dislike';

export interface ReactionState {
  likes: number;
  dislikes: number;
  reaction: Reaction | null;
}

/** What the reader did to one comment, and may do. */
export interface OverlayEntry {
  reaction: Reaction | null;
  can_edit: boolean;
  can_delete: boolean;
  /** How many passages of the reader's own text the word filter has masked. */
  masked?: number;
}

export interface Overlay {
  /** By comment id. */
  data: Record<string, OverlayEntry>;
  /** The reader's own comments that no list shows yet. */
  pending: Comment[];
}

export interface Guest {
  token: string;
  member: MemberName;
}

/** How an installation signs its readers in. */
export interface SignInProvider {
  id: string;
  name: string;
  kind: 'oidc' | 'oauth2' | 'email';
}

/** What a link is asked for with: `page` gets the code, with `state`. */
export interface SignInLinkRequest {
  email: string;
  site: string;
  page: string | undefined;
  state: string;
}

/** What signing in gives. */
export interface Session {
  token: string;
  expires_at: number;
}

export type MailFrequency = 'each' | 'daily' | 'never';

/** The reader, as the server knows them. */
export interface Me extends MemberName {
  /** Where the picture is from; readers get a copy of it from the server. */
  avatar: string | null;
  guest: boolean;
  email: string | null;
  notify: MailFrequency;
  language: string | null;
}

export interface Notification {
  id: string;
  kind: 'reply' | 'mention' | 'watched' | 'decision';
  /** Null when it is no longer shown. */
  comment: Comment | null;
  actor: MemberName | null;
  /** Of the watched subject. */
  title: string | null;
  created_at: number;
  read: boolean;
}

/** A subject that the reader watches. */
export interface WatchedThread {
  type: string;
  key: string;
  title: string | null;
  url: string | null;
}

export interface Notifications {
  data: Notification[];
  page: { next: string | null };
  unread: number;
}

export type ReportReason = 'spam' | 'abuse' | 'illegal' | 'other';

export type Sort = 'hot' | 'new' | 'old' | 'top' | 'best' | 'replies' | 'controversial';

export interface FieldError {
  field?: string;
  detail?: string;
  category?: string;
}

/** ALTCHA's proof of work, version 1. */
export interface AltchaChallenge {
  algorithm: string;
  /** Of the salt and the number, in hexadecimal digits. */
  challenge: string;
  maxnumber: number;
  salt: string;
  signature: string;
}

/** A widget of Cloudflare. */
export interface TurnstileChallenge {
  sitekey: string;
}

/** What a guest answers before a write is done. */
export type Challenge = AltchaChallenge | TurnstileChallenge;

/** RFC 9457. */
export interface ProblemBody {
  title?: string;
  detail?: string;
  code?: string;
  errors?: FieldError[];
  /** With the code `challenge_required`. */
  challenge?: Challenge | null;
}
