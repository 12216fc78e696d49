/** The address of a section: `#/SECTION`, `#/SECTION/ID`, each with a filter as its query. Pure. */

export const SECTIONS = [
  'held',
  'reported',
  'rejected',
  'comments',
  'subjects',
  'members',
  'words',
  'live',
  'audit',
  'webhooks',
  'transfer',
  'settings',
] as const;

export type Section = (typeof SECTIONS)[number];

export interface Route {
  section: Section;
  /** What follows the section: the id of a comment, of a member or of a webhook. */
  id: string | null;
  /** What the list is limited to, by name; nothing is empty. */
  filter: Readonly<Record<string, string>>;
}

/** The section that an address names; the first one for an address that names none. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\//, '').split('?', 2);
  const [name = '', id = ''] = path.split('/', 2);
  const section = SECTIONS.find((one) => one === name) ?? 'held';
  const given = [...new URLSearchParams(query)].filter(([, value]) => value !== '');
  return { section, id: decoded(id) || null, filter: Object.fromEntries(given) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** The address of a list; parts of the filter that are empty are left out. */
export function listHref(section: Section, filter: Record<string, string | null> = {}): string {
  const given = Object.entries(filter).filter((part): part is [string, string] => Boolean(part[1]));
  const query = new URLSearchParams(given).toString();
  return query ? `#/${section}?${query}` : `#/${section}`;
}

/** The deliveries of a webhook. */
export const webhookHref = (id: string) => `#/webhooks/${encodeURIComponent(id)}`;

export const commentHref = (id: string) => `#/comments/${encodeURIComponent(id)}`;

export const memberHref = (id: string) => `#/members/${encodeURIComponent(id)}`;

/** The page of a thread, for readers. */
export const threadHref = ({ type, key }: { type: string; key: string }) =>
  `/t/${type}/${encodeURIComponent(key)}`;
