/** What opens over a comment by a key: muting its author, adding a word of it. */

import { useState } from 'preact/hooks';
import type { Author } from '../api/wire.ts';
import { AddWordDialog, selectedTerm } from './add-word.tsx';
import { MuteDialog } from './mute.tsx';
import type { ModeratedMember } from './wire.ts';

type Opened = { kind: 'mute'; author: Author } | { kind: 'word'; term: string };

/** The dialogs of the comment, or of the refused text, in focus. `openByKey` says whether it took the key. */
export function useCommentDialogs(
  comment: { author: Author | null } | null,
  onMemberChanged: (member: ModeratedMember) => void = () => {},
) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const openByKey = (key: string): boolean => {
    if (key === 'm' && comment?.author) setOpened({ kind: 'mute', author: comment.author });
    else if (key === 'w' && comment) setOpened({ kind: 'word', term: selectedTerm() });
    else return false;
    return true;
  };
  // The event of a dialog that is closed comes late: another one may be open.
  const close = () => setOpened((now) => (now === opened ? null : now));
  const dialog =
    opened?.kind === 'mute' ? (
      <MuteDialog author={opened.author} onChanged={onMemberChanged} onClose={close} />
    ) : opened?.kind === 'word' ? (
      <AddWordDialog term={opened.term} onClose={close} />
    ) : null;
  return { openByKey, dialog };
}
