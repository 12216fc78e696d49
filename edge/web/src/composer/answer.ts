/** Answers a server's challenge in a form, and says meanwhile what happens. */

import type { Challenge } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { Locale } from '../text/locale.ts';
import type { ComposerForm } from './form.ts';

/** Where it is answered. */
export type AnswerPlace = Pick<ComposerForm, 'node' | 'progress' | 'widgetSlot'>;

/** Null when there is no answer. */
export async function answerChallenge(
  challenge: Challenge,
  form: AnswerPlace,
  { text, tag }: Locale,
): Promise<string | null> {
  const isWidget = 'sitekey' in challenge;
  form.progress.textContent = isWidget ? text.confirmHuman : text.solving;
  try {
    if (!isWidget) {
      const { solveAltcha } = await import('../api/altcha.ts');
      return await solveAltcha(challenge);
    }
    const { turnstileToken } = await import('./turnstile.ts');
    return await withWidgetBox(form, (box) =>
      turnstileToken(box, challenge.sitekey, tag.toLowerCase()),
    );
  } finally {
    form.progress.textContent = '';
  }
}

/** A box outside of the shadow tree, where scripts of others find what they draw, shown in the form. */
async function withWidgetBox<Result>(
  { node, widgetSlot }: AnswerPlace,
  use: (box: HTMLElement) => Promise<Result>,
): Promise<Result> {
  const box = h('div', { slot: widgetSlot.name });
  const root = node.getRootNode();
  (root instanceof ShadowRoot ? root.host : node).append(box);
  try {
    return await use(box);
  } finally {
    box.remove();
  }
}
