/**
 * What a reader gets who comes to the comments: keys, replies that can be folded, a button that quotes, pictures in full size,
 * and links to comments that leave no trace in the history.
 */

import { followCommentLinks } from './address.ts';
import { ThreadFolds } from './folds.ts';
import { Keys } from './keys.ts';
import type { ThreadPartHost } from './part-host.ts';
import { openPicturesInLightbox } from './picture-links.ts';
import { QuoteButton } from './quote-button.ts';

interface UsedThread extends ThreadPartHost {
  showLinked(id: string): void;
}

const started = new WeakMap<object, Keys>();

/**
 * A second call changes nothing; the answer is the keys. `areKeysAllowed` is the decision of the page about letters; `loadForms`
 * is called when the reader points at the form, and so is about to use it.
 */
export function startUsedParts(
  thread: UsedThread,
  areKeysAllowed: () => boolean,
  loadForms: () => void,
): Keys {
  const known = started.get(thread);
  if (known) return known;
  const keys = new Keys(thread.frame.section, thread.locale, areKeysAllowed);
  started.set(thread, keys);
  new ThreadFolds(thread);
  new QuoteButton(thread);
  openPicturesInLightbox(thread);
  followCommentLinks(thread.frame.section, (id) => thread.showLinked(id));
  const { composer } = thread.frame;
  composer.addEventListener('pointerenter', loadForms);
  if (composer.matches(':hover')) loadForms();
  return keys;
}
