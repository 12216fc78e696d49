/** What a reader gets who comes to the comments: keys, replies that can be folded, a button that quotes, and pictures in full size. */

import { ThreadFolds } from './folds.ts';
import { Keys } from './keys.ts';
import type { ThreadPartHost } from './part-host.ts';
import { openPicturesInLightbox } from './picture-links.ts';
import { QuoteButton } from './quote-button.ts';

const started = new WeakSet<object>();

/**
 * A second call changes nothing. `areKeysAllowed` is the decision of the page about letters; `loadForms` is called when the
 * reader points at the form, and so is about to use it.
 */
export function startUsedParts(
  thread: ThreadPartHost,
  areKeysAllowed: () => boolean,
  loadForms: () => void,
): void {
  if (started.has(thread)) return;
  started.add(thread);
  new Keys(thread.frame.section, thread.locale, areKeysAllowed);
  new ThreadFolds(thread);
  new QuoteButton(thread);
  openPicturesInLightbox(thread);
  const { composer } = thread.frame;
  composer.addEventListener('pointerenter', loadForms);
  if (composer.matches(':hover')) loadForms();
}
