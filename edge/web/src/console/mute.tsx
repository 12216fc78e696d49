/** For how long a member is muted: buttons, and a dialog with a key for each. */

import type { MemberName } from '../api/wire.ts';
import { Dialog } from './dialog.tsx';
import { Problem, useConsole, useNow } from './parts.tsx';
import { MUTE_SPANS, mutedUntil, muteEnd } from './standing.ts';
import { mutedText } from './text.ts';
import { useMember, useStanding } from './use-member.ts';
import type { ModeratedMember } from './wire.ts';

const UNMUTE_KEY = '0';

/** A function that mutes a member by the key of a span, or unmutes; it says whether there is such a key. */
function useMute(onChanged: (member: ModeratedMember) => void) {
  const { text } = useConsole();
  const change = useStanding(onChanged);
  return ({ id, name }: MemberName, key: string): boolean => {
    const span = MUTE_SPANS.find((one) => one.key === key);
    const shown = name || text.idOf(id);
    if (span) {
      const label = text.wasMuted(shown, text[span.name]);
      void change(id, label, { muted_until: muteEnd(span, Date.now()) }).catch(() => {});
    } else if (key === UNMUTE_KEY) {
      void change(id, text.wasUnmuted(shown), { muted_until: null }).catch(() => {});
    }
    return span !== undefined || key === UNMUTE_KEY;
  };
}

export function MuteButtons({
  member,
  isMuted,
  hasKeys = false,
  onChanged,
  onChosen,
}: {
  member: MemberName;
  isMuted: boolean;
  hasKeys?: boolean;
  onChanged: (member: ModeratedMember) => void;
  onChosen?: () => void;
}) {
  const { text } = useConsole();
  const mute = useMute(onChanged);
  const button = (key: string, label: string) => (
    <button
      key={key}
      type="button"
      onClick={() => {
        onChosen?.();
        mute(member, key);
      }}
    >
      {label} {hasKeys && <kbd>{key}</kbd>}
    </button>
  );
  return (
    <div class="buttons">
      {MUTE_SPANS.map(({ key, name }) => button(key, text[name]))}
      {isMuted && button(UNMUTE_KEY, text.unmute)}
    </div>
  );
}

export function MuteDialog({
  author,
  onChanged,
  onClose,
}: {
  author: MemberName & { role?: string | null };
  onChanged: (member: ModeratedMember) => void;
  onClose: () => void;
}) {
  const { text, language } = useConsole();
  const { member, problem, reload } = useMember(author.id);
  const mute = useMute(onChanged);
  const now = useNow();
  const until = member && mutedUntil(member, now);
  const isAdmin = (member?.role ?? author.role) === 'admin';
  const dialog = (close: () => void) => (
    <>
      <p>{isAdmin ? text.adminsAreNotMuted : text.muteText}</p>
      {until !== null && <p class="bad-text">{mutedText(text, language, until)}</p>}
      {problem ? <Problem problem={problem} onRetry={reload} /> : null}
      {!isAdmin && (
        <MuteButtons
          member={author}
          isMuted={until !== null}
          hasKeys
          onChanged={onChanged}
          onChosen={close}
        />
      )}
    </>
  );
  return (
    <Dialog
      title={text.muteWho(author.name || text.idOf(author.id))}
      onClose={onClose}
      onKey={(key, close) => {
        if (!isAdmin && mute(author, key)) close();
      }}
    >
      {dialog}
    </Dialog>
  );
}
