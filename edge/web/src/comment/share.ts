/** The address of a comment, for others. */

import { announce } from '../dom/announce.ts';
import type { CommentHost, MessagePlace } from './host.ts';

export const canShare = 'share' in navigator;

/** On the page that the reader sees. */
function linkTo(id: string): string {
  const [page] = location.href.split('#');
  return `${page}#comment-${id}`;
}

/** Whether it is copied; else the reader copies what `place` shows. */
export async function copyLink(
  { frame, text }: CommentHost,
  id: string,
  place: MessagePlace,
): Promise<boolean> {
  const link = linkTo(id);
  try {
    await navigator.clipboard.writeText(link);
    announce(frame, text.linkCopied);
    return true;
  } catch {
    // Without a secure connection there is no clipboard.
    place.showMessage(link);
    return false;
  }
}

/** A reader who shares it after all with no one has done nothing. */
export async function shareLink(id: string): Promise<void> {
  await navigator.share({ title: document.title, url: linkTo(id) }).catch(() => undefined);
}
