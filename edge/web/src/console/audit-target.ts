/** Where the target of an entry of the audit log is in the console. Pure. */

import { commentHref, listHref, memberHref, webhookHref } from './route.ts';
import type { ConsoleText } from './text.ts';
import type { AuditRecord } from './wire.ts';

export type AuditTargetKind = keyof ConsoleText['targets'];

export interface AuditTarget {
  kind: AuditTargetKind;
  /** Which one; empty where there is only one. */
  name: string;
  href: string;
}

/** What an entry is about; null for a kind that is not known here. */
export function targetOf({ target, action, before, after }: AuditRecord): AuditTarget | null {
  const { kind, id } = target;
  switch (kind) {
    case 'comment':
      return { kind, name: id, href: commentHref(id) };
    case 'member':
      return { kind, name: id, href: memberHref(id) };
    case 'subject':
      return { kind, name: id, href: listHref('subjects', { q: id }) };
    case 'words': {
      const term = onlyTerm(before, after);
      return { kind, name: term ?? '', href: listHref('words', { q: term }) };
    }
    case 'settings':
      return { kind, name: '', href: listHref('settings') };
    case 'webhook': {
      // The deliveries of a webhook go with it.
      const isGone = action === 'remove_webhook';
      return { kind, name: id, href: isGone ? listHref('webhooks') : webhookHref(id) };
    }
    case 'import':
      return { kind, name: '', href: listHref('transfer') };
    default:
      return null;
  }
}

/** The term of a change of the dictionary that was about one alone. */
function onlyTerm(...values: unknown[]): string | null {
  const terms = new Set(values.flatMap(termsOf));
  return terms.size === 1 ? ([...terms][0] ?? null) : null;
}

/** A term is written as itself or with its category and action. */
function termsOf(value: unknown): string[] {
  const { added, removed } = (value ?? {}) as Record<string, unknown>;
  return [added, removed].flatMap((list) => (Array.isArray(list) ? list : [])).map(termOf);
}

const termOf = (one: unknown): string =>
  typeof one === 'string' ? one : String((one as { term?: unknown } | null)?.term ?? '');
