/** What moderators say of a member: mutes, and what a form changes. Pure. */

import type { AssignableRole, ModeratedMember, StandingPatch } from './wire.ts';

/** The last moment that the server takes: the end of the year 9999. */
export const FOR_EVER_MS = 253_402_300_799_999;

const HOUR_MS = 3_600_000;

/** For how long a member is muted, and the key that says so; null for ever. */
export const MUTE_SPANS = [
  { key: '1', name: 'oneHour', spanMs: HOUR_MS },
  { key: '2', name: 'oneDay', spanMs: 24 * HOUR_MS },
  { key: '3', name: 'oneWeek', spanMs: 7 * 24 * HOUR_MS },
  { key: '4', name: 'forEver', spanMs: null },
] as const;

export type MuteSpan = (typeof MUTE_SPANS)[number];

export const muteEnd = ({ spanMs }: MuteSpan, nowMs: number) =>
  spanMs === null ? FOR_EVER_MS : nowMs + spanMs;

/** Until when a member may not write; null for one who may. */
export function mutedUntil(
  { muted_until }: Pick<ModeratedMember, 'muted_until'>,
  nowMs: number,
): number | null {
  return muted_until !== null && muted_until > nowMs ? muted_until : null;
}

/** The patch that takes another one back. */
export function formerStanding(before: ModeratedMember, patch: StandingPatch): StandingPatch {
  const former: StandingPatch = {};
  if ('level' in patch) former.level = before.level;
  if ('role' in patch) former.role = before.role;
  if ('muted_until' in patch) former.muted_until = before.muted_until;
  if ('tokens_not_before' in patch) former.tokens_not_before = before.tokens_not_before;
  if ('note' in patch) former.note = before.note;
  return former;
}

/** What the fields of the form hold: empty where nothing is said. */
export interface TypedStanding {
  level: string;
  role: string;
  note: string;
}

export const typedStanding = ({ level, role, note }: ModeratedMember): TypedStanding => ({
  level: level === null ? '' : String(level),
  role: role ?? '',
  note: note ?? '',
});

/** What was changed in the form; null where nothing was. */
export function standingPatch(member: ModeratedMember, typed: TypedStanding): StandingPatch | null {
  const patch: StandingPatch = {};
  const level = typed.level.trim() === '' ? null : Number(typed.level);
  if (level !== member.level) patch.level = level;
  const role = (typed.role || null) as AssignableRole | null;
  if (role !== member.role) patch.role = role;
  const note = typed.note.trim() === '' ? null : typed.note.trim();
  if (note !== member.note) patch.note = note;
  return Object.keys(patch).length > 0 ? patch : null;
}
