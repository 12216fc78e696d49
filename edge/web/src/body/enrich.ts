/**
 * What the text of a comment gets after it is shown: marked names and tasks, aligned columns, the languages of its
 * paragraphs, stickers, colours of its code, formulas.
 */

import { fetchWritten } from '../api/public.ts';
import type { QuotedComment } from '../model/shown-comment.ts';
import css from '../style/paragraph-language.css';
import { addStyles } from '../style/style-sheet.ts';
import type { Locale } from '../text/locale.ts';
import { namedLanguages } from './code-language.ts';
import { isFormulaLanguage } from './formula-source.ts';
import { markMentions } from './mentions.ts';
import { packsAddress } from './packs-address.ts';
import { markLanguages } from './paragraph-language.ts';
import { alignColumns } from './table-columns.ts';
import { markTasks } from './tasks.ts';
import { whenNear } from './when-near.ts';

addStyles(css);

const MAY_HAVE_STICKER = /:\S+:/;

/** Code and the names of stickers stay as they are where what it needs cannot be loaded. */
export function enrich(
  body: HTMLElement,
  comment: Pick<QuotedComment, 'content' | 'html' | 'mentions'> & { id?: string },
  locale: Locale,
  server = '',
): void {
  const { content, html, id, mentions = [] } = comment;
  markMentions(body, mentions);
  markTasks(body);
  alignColumns(body, html);
  markLanguages(body, locale.tag);
  const packs = packsAddress(body);
  if (packs && MAY_HAVE_STICKER.test(body.textContent ?? '')) {
    import('./stickers.ts').then((part) => part.drawStickers(body, packs)).catch(() => 0);
  }
  if (!body.querySelector('pre > code')) return;
  if (content || !id) drawCode(body, content ?? '');
  // A list does not have the text, which names the languages.
  else
    whenNear(body)
      .then(() => fetchWritten(server, id))
      .then((written) => drawCode(body, written))
      .catch(() => 0);
}

function drawCode(body: HTMLElement, written: string): void {
  const named = namedLanguages(written);
  const languages = [...named.values()];
  if (languages.some(isFormulaLanguage)) {
    import('./formulas.ts').then(({ drawFormulas }) => drawFormulas(body, named)).catch(() => 0);
  }
  if (languages.length > 0 && languages.every(isFormulaLanguage)) return;
  import('./highlight.ts').then(({ highlightCode }) => highlightCode(body, named)).catch(() => 0);
}
