/** Settings as fields of a form, and the patch that says what was changed. Pure. */

import type { SettingSection, SettingValue } from './wire.ts';

/** Of settings that may be absent the answer has no type. */
const NUMBERS_THAT_MAY_BE_ABSENT = ['rules.max_links', 'rules.close_after_days'];
/** In Unix milliseconds, or null. */
const TIMES = ['tokens.not_before'];
const CHOICES: Record<string, string[]> = {
  'rules.guests': ['allowed', 'held', 'off'],
  'rules.classified': ['none', 'guests', 'everyone'],
  'rules.unclassified': ['allow', 'review'],
  'challenge.guests': ['never', 'suspicious', 'always'],
  'challenge.kind': ['altcha', 'turnstile'],
};

export type SettingKind = 'switch' | 'number' | 'choice' | 'list' | 'time';

export interface SettingField {
  /** Dotted: `rules.guests`. */
  name: string;
  kind: SettingKind;
  value: SettingValue;
  choices: string[];
}

/** The fields of all settings, in the order of the answer. */
export function fieldsOf(settings: SettingSection, prefix = ''): SettingField[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    const name = prefix + key;
    if (isSection(value)) return fieldsOf(value, `${name}.`);
    return [{ name, kind: kindOf(name, value), value, choices: CHOICES[name] ?? [] }];
  });
}

function isSection(value: SettingValue | SettingSection | undefined): value is SettingSection {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(name: string, value: SettingValue): SettingKind {
  if (CHOICES[name]) return 'choice';
  if (TIMES.includes(name)) return 'time';
  if (typeof value === 'boolean') return 'switch';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'number' || NUMBERS_THAT_MAY_BE_ABSENT.includes(name) ? 'number' : 'list';
}

/** What is typed into the field of a number; null for none. NaN is what the server refuses by name. */
export function typedNumber(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}

/** The lines of a list, without empty ones. */
export function typedList(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The values that are not those of an earlier moment. */
export function changedSince(
  now: ReadonlyMap<string, SettingValue>,
  before: ReadonlyMap<string, SettingValue>,
): ReadonlyMap<string, SettingValue> {
  return new Map([...now].filter(([name, value]) => before.get(name) !== value));
}

/**
 * What was changed here, after someone else has changed the settings from `before` to `now`. Of a list both changes count;
 * of another field theirs does, since it has not been seen here.
 */
export function rebased(
  changed: ReadonlyMap<string, SettingValue>,
  before: readonly SettingField[],
  now: readonly SettingField[],
): ReadonlyMap<string, SettingValue> {
  const former = new Map(before.map(({ name, value }) => [name, value]));
  const result = new Map<string, SettingValue>();
  for (const { name, value } of now) {
    const own = changed.get(name);
    if (own === undefined) continue;
    const base = former.get(name);
    if (JSON.stringify(base) === JSON.stringify(value)) result.set(name, own);
    else if (Array.isArray(own) && Array.isArray(base) && Array.isArray(value)) {
      const kept = value.filter((item) => own.includes(item) || !base.includes(item));
      const added = own.filter((item) => !base.includes(item) && !kept.includes(item));
      result.set(name, [...kept, ...added]);
    }
  }
  return result;
}

/** The merge patch of what was changed; null where nothing was. */
export function patchOf(
  fields: readonly SettingField[],
  changed: ReadonlyMap<string, SettingValue>,
): SettingSection | null {
  const patch: SettingSection = {};
  for (const { name, value } of fields) {
    const now = changed.get(name);
    if (now === undefined || JSON.stringify(now) === JSON.stringify(value)) continue;
    const path = name.split('.');
    const last = path.pop() ?? name;
    let section = patch;
    for (const key of path) {
      const inner = section[key];
      const next: SettingSection = isSection(inner) ? inner : {};
      section[key] = next;
      section = next;
    }
    section[last] = now;
  }
  return Object.keys(patch).length > 0 ? patch : null;
}
