/**
 * A comment before anything is known of it. `data-act` names what a press on a button does: see `acts.ts`. No form is around
 * the buttons.
 */

import type { Reaction } from '../api/wire.ts';
import { iconHtml, template } from '../dom/template.ts';
import type { Strings } from '../text/en.ts';
import { FOLD_HTML } from './fold.ts';

const THUMB_PATH =
  'M7 11v9H4v-9zl3.6-8c1.7 0 2.9 1.2 2.9 2.8V9.5h5a2 2 0 0 1 2 2.4l-1.4 6.5a2 2 0 0 1-2 1.6H7';

/** A button with the number of a reaction. Of all controls of a comment one is a tab stop. */
const reactionHtml = (kind: Reaction, { [kind]: label }: Strings, tabIndex: number) =>
  `<button class="${kind} act" data-act="${kind}" tabindex="${tabIndex}">` +
  `${iconHtml(THUMB_PATH)}<span class="sr">${label}</span> <span></span></button>`;

const cardHtml = (text: Strings) =>
  '<li class="item"><article class="article" part="comment" tabindex="-1"><div class="avatar" aria-hidden="true"></div>' +
  '<div class="main"><div class="head">' +
  '<button class="author" part="author" data-act="card" tabindex="-1"></button>' +
  '<a class="when" tabindex="-1"><time class="time"></time></a>' +
  `<span class="edited">${text.edited}</span><span class="floor" part="floor"></span></div>` +
  `<p class="answer" hidden>${text.replyingTo} <a class="answered" tabindex="-1"></a> · ` +
  '<button class="expander link" data-act="frames" tabindex="-1" aria-expanded="false">' +
  `${text.showConversation}</button></p>` +
  '<p class="state" part="notice" hidden></p><div class="frames" hidden></div>' +
  FOLD_HTML +
  '<div class="actions" part="actions" role="toolbar">' +
  reactionHtml('like', text, 0) +
  reactionHtml('dislike', text, -1) +
  '<button class="reply act" data-act="reply" tabindex="-1"></button>' +
  '<button class="more act" part="menu-button" data-act="menu" tabindex="-1" ' +
  `aria-label="${text.more}" aria-haspopup="menu" aria-expanded="false">⋯</button></div>` +
  '<p class="error" role="alert"></p><div class="slot"></div></div></article>' +
  '<ol class="replies" role="list"></ol>' +
  '<button class="rest link more-replies" data-act="replies" hidden></button></li>';

/** Makes copies of the comment in a language. */
export const cardIn = (text: Strings): (() => HTMLLIElement) => template(cardHtml(text));
