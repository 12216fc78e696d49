/** The shapes of the moderators' calls. Only types: nothing here exists at run time. */

import type { Comment, MemberName } from '../api/wire.ts';

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
  waiting_since: number;
  leased_by: MemberName | null;
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
  /** This and what follows is left out in lists. */
  friends?: string[];
  counts?: MemberCounts;
  /** Other names under which they wrote. */
  names?: string[];
  /** Their newest comments, whatever their state. */
  last?: Comment[];
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

/** A comment that was found. */
export interface FoundComment extends Comment {
  /** A part of the text as HTML, with what was found in `mark`. */
  highlight?: string;
}
