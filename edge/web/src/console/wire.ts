/** The shapes of the moderators' calls. Only types: nothing here exists at run time. */

import type { Author, Comment, MemberName, SubjectMode } from '../api/wire.ts';

/** Who may use the console. */
export type Role = 'moderator' | 'admin';

export type QueuePart = 'held' | 'reported';

export interface ReviewReason {
  kind: 'word' | 'report' | 'rule' | 'classifier';
  /** The category of a word, the reason of a report, the name of a rule. */
  detail: string;
  count: number;
}

export interface QueueEntry {
  comment: Comment;
  /** The text as it was typed. */
  written: string;
  /** The text that readers see while an edit waits; null where none does. */
  published: string | null;
  why: ReviewReason[];
  /** Up to two comments above it, the higher one first. */
  context: Comment[];
  /** What is shown of it; a decision sends it back. */
  version: string;
  waiting_since: number;
  leased_by: MemberName | null;
}

/** A text that the word filter refused. */
export interface RefusedText {
  id: string;
  at: number;
  kind: 'post' | 'edit';
  subject: { type: string; key: string };
  parent_id: string | null;
  comment_id: string | null;
  author: Author;
  /** As it was typed. */
  content: string;
  why: ReviewReason[];
  mentions: string[];
  visibility: 'everyone' | 'self';
}

export interface ListPage<Item> {
  data: Item[];
  page: { next: string | null; has_more: boolean };
}

export interface QueuePage extends ListPage<QueueEntry> {
  count: number;
}

export type Decision =
  | 'approve'
  | 'reject'
  | 'hide'
  | 'restore'
  | 'delete'
  | 'feature'
  | 'unfeature';

export interface DecisionOutcome {
  id: string;
  status: number;
  audit_id?: string;
  code?: string;
}

/** A comment after a decision. */
export interface DecidedComment extends Comment {
  audit_id: string;
}

export interface AuditRecord {
  id: string;
  at: number;
  actor: MemberName;
  action: string;
  target: { kind: string; id: string };
  reason: string | null;
  before: unknown;
  after: unknown;
}

export type TermAction = 'mask' | 'review' | 'block';

export interface Term {
  term: string;
  category: string;
  action: TermAction;
}

export interface DictionaryPage extends ListPage<Term> {
  version: number;
}

export interface DictionaryVersion {
  version: number;
  count: number;
}

export interface TermMatches {
  data: { id: string; content: string }[];
  count: number;
}

export interface Report {
  member: MemberName;
  reason: string;
  note: string | null;
  at: number;
}

export interface FormerText {
  content: string;
  replaced_at: number;
}

export type SettingValue = boolean | number | string | string[] | null;

export interface SettingSection {
  [name: string]: SettingValue | SettingSection;
}

export interface AdminSettings {
  version: number;
  settings: SettingSection;
  /** Dotted names of those that the configuration of the server fixes. */
  fixed: string[];
}

export type SubjectState = 'open' | 'closed' | 'hidden';

/** What is commented on. */
export interface ModeratedSubject {
  type: string;
  key: string;
  title: string | null;
  url: string | null;
  /** The member it belongs to (楼主). */
  owner_id: string | null;
  /** How its threads are built. */
  mode: SubjectMode;
  state: SubjectState;
  roots: number;
  comments: number;
  /** When its newest comment was written; null where there is none. */
  last_activity: number | null;
}

/** What changes of a subject: a field that is left out stays, null takes it away. */
export type SubjectPatch = Partial<
  Pick<ModeratedSubject, 'title' | 'url' | 'owner_id' | 'mode' | 'state'>
>;

/** What a role that is given to a member can be. */
export type AssignableRole = 'member' | Role;

/** A member, with what moderators say of them; each null where nothing is said. */
export interface ModeratedMember extends MemberName {
  avatar: string | null;
  /** The level that they last wrote with. */
  token_level: number;
  guest: boolean;
  level: number | null;
  role: AssignableRole | null;
  muted_until: number | null;
  tokens_not_before: number | null;
  note: string | null;
  /** This and what follows is left out in lists. What the site says of them today, where it is asked and answers. */
  account?: MemberAccount;
  friends?: string[];
  counts?: MemberCounts;
  /** Other names under which they wrote. */
  names?: string[];
  /** Their newest comments, whatever their state. */
  last?: Comment[];
}

/** What the site says of a member; each null where it says nothing that can be used. */
export interface MemberAccount {
  name: string | null;
  avatar: string | null;
  level: number | null;
}

/** How many comments a member has, among the newest 10,000. */
export interface MemberCounts {
  published: number;
  /** Those with an edit that waits are counted too. */
  held: number;
  rejected: number;
  reported: number;
  /** Whether these are all. */
  complete: boolean;
}

/** What changes of a member: a field that is left out stays, null takes it back. */
export type StandingPatch = Partial<
  Pick<ModeratedMember, 'level' | 'role' | 'muted_until' | 'tokens_not_before' | 'note'>
>;

export type ActivityStep = 'minute' | 'hour' | 'day';

/** What happened in one step: acts, which later deletions do not change. */
export interface ActivityPoint {
  /** When the step begins. */
  at: number;
  posts: number;
  held: number;
  rejected: number;
  reports: number;
  reactions: number;
}

export interface ActivitySeries {
  /** The oldest first, without gaps. */
  data: ActivityPoint[];
}

/** A comment that was found. */
export interface FoundComment extends Comment {
  /** A part of the text as HTML, with what was found in `mark`. */
  highlight?: string;
}

/** How many lines of a file had which outcome. */
export interface ImportReport {
  imported: number;
  skipped: number;
  /** Those of the imported that stand under their root. */
  reparented: number;
  bad: number;
}

/** Why comments of another system's export are left out. */
export type LeftOutReason = 'not approved' | 'spam' | 'pingbacks' | 'deleted';

/** Of an import: what its file is. */
export interface ImportOptions {
  isStrict: boolean;
  /** The system that the file is an export of; empty for lines. */
  from: string;
  type: string;
  site: string;
  takesHeld: boolean;
}

/** A line of the answer to an import; the last one is a report or an error. */
export type ImportLine =
  | { line: number; reason: string }
  | { item: string; reason: string }
  | { left_out: Partial<Record<LeftOutReason, number>> }
  | { done: number; total: number }
  | { error: string }
  | ImportReport;

export type WebhookEvent =
  | 'comment.created'
  | 'comment.held'
  | 'comment.reported'
  | 'comment.decided';

export type WebhookTemplate = 'slack' | 'telegram' | 'lark' | 'dingtalk' | 'discord';

/** A webhook to be. */
export interface WebhookRequest {
  url: string;
  events: WebhookEvent[];
  /** The form of a chat service; null for JSON. */
  template: WebhookTemplate | null;
}

export interface Webhook extends WebhookRequest {
  id: string;
  created_at: number;
  /** Since when no try was a success. */
  failing_since: number | null;
  /** How many events there was no room for. */
  dropped: number;
  /** Only in the answer of the call that made it. */
  secret?: string;
}

export interface Passkey {
  id: string;
  name: string;
  created_at: number;
  /** When it signed in last; null before the first time. */
  used_at: number | null;
}

/** What the browser asks an authenticator for; the answer is sent with `challenge`. */
export interface PasskeyChallenge {
  challenge: string;
  options: Record<string, unknown>;
}

export interface WebhookDelivery {
  id: string;
  event: WebhookEvent;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** The status of the last answer; null where there was none. */
  last_status: number | null;
  /** When it is tried next; null where it is not. */
  next_at: number | null;
  created_at: number;
}
