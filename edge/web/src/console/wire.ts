/** The shapes of the moderators' calls. Only types: nothing here exists at run time. */

import type { Comment, MemberName } from '../api/wire.ts';

export type Role = 'member' | 'moderator' | 'admin';

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
