/** What the id of a comment says. Pure. */

/** 2000-01-01T00:00:00Z in Unix milliseconds: the time 0 of the ids. */
const ID_EPOCH_MS = 946_684_800_000n;
/** The bits below the time: those of the slot, the node and the sequence. */
const BITS_BELOW_TIME = 22n;
const MAX_ID_DIGITS = 19;

/** When the comment was written, in Unix milliseconds; null for what is no id. */
export function createdAt(id: string): number | null {
  if (!/^\d+$/.test(id) || id.length > MAX_ID_DIGITS) return null;
  return Number((BigInt(id) >> BITS_BELOW_TIME) + ID_EPOCH_MS);
}
