/** The chain that a comment is the end of. Pure: no DOM. */

import type { ChainLink } from '../model/shown-comment.ts';

/**
 * The ids from the ground floor to the comment; undefined where neither the comment itself nor those that `find` has say all of
 * them.
 */
export function chainOf(
  { id, parent_id, path, root_id }: ChainLink,
  find: (id: string) => ChainLink | undefined,
): string[] | undefined {
  if (!parent_id) return [id];
  if (path?.[1]) return path;
  // In a flat list each comment is a root of its own.
  if (root_id === id || root_id === parent_id) return [parent_id, id];
  const parent = find(parent_id);
  const above = parent && chainOf(parent, find);
  return above && [...above, id];
}
