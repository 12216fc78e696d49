/** What the text of a comment gets after it is shown: marked names, and the languages of its paragraphs. */

import type { QuotedComment } from '../model/shown-comment.ts';
import css from '../style/paragraph-language.css';
import { addStyles } from '../style/style-sheet.ts';
import type { Locale } from '../text/locale.ts';
import { markMentions } from './mentions.ts';
import { markLanguages } from './paragraph-language.ts';

addStyles(css);

export function enrich(body: HTMLElement, { mentions = [] }: QuotedComment, locale: Locale): void {
  markMentions(body, mentions);
  markLanguages(body, locale.tag);
}
