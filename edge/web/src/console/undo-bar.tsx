/** The last act, for as long as it can be taken back, in every section. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { isConflict, problemText } from './parts.tsx';
import type { ConsoleText } from './text.ts';
import {
  addOffer,
  lastOffer,
  markDone,
  removeOffer,
  type TakeBack,
  UNDO_OFFER_MS,
  type UndoOffer,
} from './undo.ts';

/** What was done in this console, and a function that takes the last of it back. */
export function useUndo(text: ConsoleText, say: (message: string) => void) {
  const [offers, setOffers] = useState<readonly UndoOffer[]>([]);
  const offerUndo = useCallback(
    (label: string, done: Promise<TakeBack | null>) => {
      const offer: UndoOffer = { label, at: Date.now(), done, isDone: false };
      setOffers((all) => addOffer(all, offer));
      say(label);
      done.then(
        (takeBack) => setOffers((all) => (takeBack ? markDone : removeOffer)(all, offer)),
        (error) => {
          setOffers((all) => removeOffer(all, offer));
          say(`${text.failed} ${problemText(error)}`);
        },
      );
    },
    [text, say],
  );
  const undo = async () => {
    const last = lastOffer(offers, Date.now());
    if (!last) return;
    setOffers((all) => removeOffer(all, last));
    // What failed has been said already.
    const takeBack = await last.done.catch(() => null);
    if (!takeBack) return;
    try {
      const left = await takeBack();
      say(typeof left === 'string' ? left : text.undone);
    } catch (error) {
      say(isConflict(error) ? text.notUndone : `${text.failed} ${problemText(error)}`);
    }
  };
  return { offers, offerUndo, undo };
}

export function UndoBar({
  offers,
  text,
  onUndo,
}: {
  offers: readonly UndoOffer[];
  text: ConsoleText;
  onUndo: () => void;
}) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setTimeout(() => setNow(Date.now()), UNDO_OFFER_MS + 100);
    return () => clearTimeout(timer);
  }, [offers]);
  const last = lastOffer(offers, now);
  if (!last?.isDone) return null;
  return (
    <div class="offer">
      <span dir="auto">{last.label}</span>
      <button type="button" onClick={onUndo}>
        {text.undo} <kbd>Z</kbd>
      </button>
    </div>
  );
}
