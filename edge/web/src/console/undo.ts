/** What was done here and can still be taken back. Pure. */

/** How long taking back is offered. */
export const UNDO_OFFER_MS = 10_000;
/** Most offers that are kept. */
const MAX_OFFERS = 20;

/** Fulfilled with a sentence where not all was taken back. */
export type TakeBack = () => Promise<unknown>;

export interface UndoOffer {
  /** What was done, as a sentence. */
  label: string;
  at: number;
  /** Fulfilled when the server has carried it out, with what takes it back; null where there is nothing to. */
  done: Promise<TakeBack | null>;
  /** Whether the server has carried it out. */
  isDone: boolean;
}

export function addOffer(offers: readonly UndoOffer[], offer: UndoOffer): UndoOffer[] {
  return [...offers, offer].slice(-MAX_OFFERS);
}

export function removeOffer(offers: readonly UndoOffer[], { done }: UndoOffer): UndoOffer[] {
  return offers.filter((other) => other.done !== done);
}

export function markDone(offers: readonly UndoOffer[], { done }: UndoOffer): UndoOffer[] {
  return offers.map((other) => (other.done === done ? { ...other, isDone: true } : other));
}

/** The last thing that can be taken back now, also while the server has not answered yet. */
export function lastOffer(offers: readonly UndoOffer[], nowMs: number): UndoOffer | null {
  const last = offers.at(-1);
  return last && nowMs - last.at < UNDO_OFFER_MS ? last : null;
}
