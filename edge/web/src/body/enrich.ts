/** What the text of a comment gets after it is shown: marked names, the languages of its paragraphs, colours of its code. */

import type { QuotedComment } from '../model/shown-comment.ts';
import css from '../style/paragraph-language.css';
import { addStyles } from '../style/style-sheet.ts';
import type { Locale } from '../text/locale.ts';
import { markMentions } from './mentions.ts';
import { markLanguages } from './paragraph-language.ts';

addStyles(css);

/** Code stays as it is where its colours cannot be loaded. */
export function enrich(
  body: HTMLElement,
  { content, mentions = [] }: Pick<QuotedComment, 'content' | 'mentions'>,
  locale: Locale,
): void {
  markMentions(body, mentions);
  markLanguages(body, locale.tag);
  if (!body.querySelector('pre > code')) return;
  import('./highlight.ts').then(({ highlightCode }) => highlightCode(body, content)).catch(() => 0);
}
