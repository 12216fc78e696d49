/**
 * How the chain below a comment is drawn as a building (盖楼): which floors, and which stands inside
 * which. The newest floor is the outermost frame, each older one is inside the next, and what is
 * older than the frames reach is rows of the innermost. Pure: no DOM. `origin/src/domain/building.rs`
 * has the same rules for pages and mails.
 */

/** Floors shown from the ground up. */
const BOTTOM_FLOORS = 2;
/** Floors shown directly below the comment. */
const TOP_FLOORS = 3;
/** Frames inside each other. */
const MAX_FRAMES = 5;

export interface FloorRow<Floor> {
  /** The place in the chain, from 1 at the ground. */
  number: number;
  floor: Floor;
}

export interface GapRow {
  /** The ids of the floors that are not drawn, the oldest first. */
  hidden: string[];
}

export type FrameRow<Floor> = FloorRow<Floor> | GapRow;

export interface Frame<Floor> {
  /** What is older. */
  inside: Frame<Floor> | null;
  /** The floors of this frame, the oldest first. */
  rows: FrameRow<Floor>[];
}

/**
 * The floors below the last comment of a chain; one that `find` does not have is not drawn. So many
 * floors as `opened` are drawn beside those that are drawn at first.
 */
export function rowsOf<Floor>(
  path: readonly string[],
  find: (id: string) => Floor | undefined,
  opened = 0,
): FrameRow<Floor>[] {
  const below = path.slice(0, -1);
  const rows: FrameRow<Floor>[] = [];
  for (const [at, id] of below.entries()) {
    const isDrawn = at < BOTTOM_FLOORS + opened || at + TOP_FLOORS >= below.length;
    const floor = isDrawn ? find(id) : undefined;
    const last = rows.at(-1);
    if (floor) rows.push({ number: at + 1, floor });
    else if (last && isGap(last)) last.hidden.push(id);
    else rows.push({ hidden: [id] });
  }
  return rows;
}

export function isGap<Floor>(row: FrameRow<Floor>): row is GapRow {
  return 'hidden' in row;
}

/** The outermost frame; null without a row. */
export function framesOf<Floor>(rows: FrameRow<Floor>[], left = MAX_FRAMES): Frame<Floor> | null {
  if (rows.length === 0) return null;
  const newest = left > 1 ? rows.findLastIndex((row) => !isGap(row)) : 0;
  const at = Math.max(newest, 0);
  return { inside: framesOf(rows.slice(0, at), left - 1), rows: rows.slice(at) };
}
