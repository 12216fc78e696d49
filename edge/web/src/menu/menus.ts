/** What opens beside a comment. Few readers need it, so it is loaded when it is asked for. */

import '../text/later.ts';
import type { Author } from '../api/wire.ts';
import type { CommentMenus, OwningComment } from '../comment/host.ts';
import { canShare, copyLink, shareLink } from '../comment/share.ts';
import { memberOf, moderatorTokenOf } from '../model/member.ts';
import { hasFlag, type ShownComment } from '../model/shown-comment.ts';
import css from '../style/menu.css';
import { addStyles } from '../style/style-sheet.ts';
import { menuText } from '../text/menu.ts';
import { openCard } from './card.ts';
import { offerDeletion } from './deletion.ts';
import { openEarlierTexts } from './earlier-texts.ts';
import type { MenuHost } from './host.ts';
import { type MenuItem, openMenu } from './menu.ts';
import { Moderation } from './moderation.ts';
import { Muting } from './muting.ts';
import { openReport } from './report.ts';
import { UndoBar } from './undo-bar.ts';

addStyles(css);

export class Menus implements CommentMenus {
  readonly muting: Muting;
  readonly #host: MenuHost;
  readonly #bar: UndoBar;
  readonly #moderation: Moderation;
  /** Comments that the reader has reported since the page was opened. */
  readonly #reported = new Set<string>();

  constructor(host: MenuHost) {
    this.#host = host;
    this.muting = new Muting(host);
    this.#bar = new UndoBar(host.frame.section, menuText(host.locale).undo);
    this.#moderation = new Moderation(host, this.#bar);
  }

  openMenu(view: OwningComment, opener: HTMLElement): void {
    const { frame, text } = this.#host;
    const ofModerators = this.#moderation.itemsFor(view);
    const groups = [{ items: this.#itemsFor(view, opener) }, ofModerators];
    openMenu(
      groups.filter(({ items }) => items.length > 0),
      text.more,
      opener,
      frame.section,
    );
  }

  openCard({ author }: Pick<ShownComment, 'author'>, opener: HTMLElement): void {
    if (author) openCard(this.#host, author, this.muting, opener);
  }

  deleteComment(view: OwningComment): void {
    offerDeletion(this.#host, this.#bar, view);
  }

  /** What every reader may do. */
  #itemsFor(view: OwningComment, opener: HTMLElement): MenuItem[] {
    const { identity, locale, text } = this.#host;
    const own = menuText(locale);
    const { id, author } = view.comment;
    const isReported = this.#reported.has(id);
    const report = {
      label: isReported ? own.reported : own.report,
      isDisabled: isReported,
      act: () =>
        openReport(
          this.#host,
          id,
          () => this.#reported.add(id),
          () => opener.focus(),
        ),
    };
    const isEdited = this.#host.info.earlier_texts && hasFlag(view.comment, 'edited');
    const earlierTexts = {
      label: own.earlierTexts,
      act: () => openEarlierTexts(this.#host, view.comment, opener),
    };
    const isOfAnother = author && author.id !== memberOf(identity)?.id;
    return [
      { label: text.copyLink, act: () => copyLink(this.#host, id, view), done: text.linkCopied },
      ...(canShare ? [{ label: text.share, act: () => shareLink(id) }] : []),
      ...(isEdited ? [earlierTexts] : []),
      ...(isOfAnother && !moderatorTokenOf(identity) ? [report] : []),
      ...(isOfAnother ? [this.#muteItem(view, author)] : []),
    ];
  }

  #muteItem(view: OwningComment, author: Author): MenuItem {
    const own = menuText(this.#host.locale);
    const name = view.authorName;
    const isMuted = this.muting.has(author);
    const act = () => {
      this.muting.set(author, !isMuted);
      view.focus();
    };
    return { label: isMuted ? own.unmute(name) : own.mute(name), act };
  }
}
