/** The page of a member: who they are, what they wrote, and what moderators say of them. */

import { useState } from 'preact/hooks';
import { CommentList } from './comment-list.tsx';
import { MuteButtons } from './mute.tsx';
import { Problem, problemText, useConsole, useNow } from './parts.tsx';
import { Counts, MemberTags, Names } from './person.tsx';
import { listHref, memberHref } from './route.ts';
import { mutedUntil } from './standing.ts';
import { StandingForm } from './standing-form.tsx';
import { timeFormat } from './text.ts';
import { useMember, useStanding } from './use-member.ts';
import type { FoundComment, ModeratedMember } from './wire.ts';

interface MemberProps {
  member: ModeratedMember;
  onChanged: (member: ModeratedMember) => void;
}

export function MemberPage({ id }: { id: string }) {
  const { text, session } = useConsole();
  const { member, setMember, problem, reload } = useMember(id);
  if (!member) {
    return (
      <section class="page">
        <p>
          <a href={listHref('members')}>{text.members}</a>
        </p>
        {problem ? <Problem problem={problem} onRetry={reload} /> : <p>{text.loading}</p>}
      </section>
    );
  }
  return (
    <section class="page member">
      <Heading member={member} />
      {member.counts && <Counts id={id} counts={member.counts} />}
      <Names title={text.nameAtSite} names={nameAtSite(member)} />
      <Names title={text.otherNames} names={member.names} />
      <Friends ids={member.friends ?? []} />
      <div class="member-parts stack">
        <Muting member={member} onChanged={setMember} />
        <LastComments member={member} onChanged={setMember} />
        <StandingForm key={standingKey(member)} member={member} onChanged={setMember} />
        <Tokens member={member} onChanged={setMember} />
        {session.role === 'admin' && <Erasure member={member} />}
      </div>
    </section>
  );
}

/** Another one after a change, so that the form begins again with what is said now. */
const standingKey = ({ level, role, note }: ModeratedMember) => JSON.stringify([level, role, note]);

/** The name that the site has for them today, where it is another one than their comments have. */
const nameAtSite = ({ name, account }: ModeratedMember) =>
  account?.name && account.name !== name ? [account.name] : [];

function Heading({ member }: { member: ModeratedMember }) {
  const { text, hasSearch } = useConsole();
  const { id, name } = member;
  return (
    <div class="stack">
      <p>
        <a href={listHref('members')}>{text.members}</a>
      </p>
      <h2 dir="auto">{name || text.noName}</h2>
      <p class="line">
        <span class="quiet">{text.idOf(id)}</span>
        <MemberTags member={member} />
        {hasSearch && <a href={listHref('comments', { member: id })}>{text.comments}</a>}
        <a href={listHref('audit', { actor: id })}>{text.theirDecisions}</a>
      </p>
    </div>
  );
}

function Friends({ ids }: { ids: readonly string[] }) {
  const { text } = useConsole();
  if (ids.length === 0) return null;
  return (
    <details>
      <summary>
        {text.friends} {ids.length}
      </summary>
      <p class="names">
        {ids.map((id) => (
          <a key={id} href={memberHref(id)}>
            {id}
          </a>
        ))}
      </p>
    </details>
  );
}

function Muting({ member, onChanged }: MemberProps) {
  const { text } = useConsole();
  const isMuted = mutedUntil(member, useNow()) !== null;
  return (
    <section class="card">
      <h3>{text.mute}</h3>
      <p class="quiet">{member.role === 'admin' ? text.adminsAreNotMuted : text.muteText}</p>
      {member.role !== 'admin' && (
        <MuteButtons member={member} isMuted={isMuted} onChanged={onChanged} />
      )}
    </section>
  );
}

function Tokens({ member, onChanged }: MemberProps) {
  const { text, language } = useConsole();
  const change = useStanding(onChanged);
  const { id, name, tokens_not_before: from } = member;
  const shown = name || text.idOf(id);
  const set = (label: string, time: number | null) =>
    void change(id, label, { tokens_not_before: time }).catch(() => {});
  return (
    <section class="card">
      <h3>{text.tokens}</h3>
      <p class="quiet">
        {from === null ? text.tokensText : text.tokensRefused(timeFormat(language).format(from))}
      </p>
      <p class="buttons">
        <button type="button" onClick={() => set(text.tokensAreRefused(shown), Date.now())}>
          {text.refuseTokens}
        </button>
        {from !== null && (
          <button type="button" onClick={() => set(text.tokensAreAccepted(shown), null)}>
            {text.acceptTokens}
          </button>
        )}
      </p>
    </section>
  );
}

function LastComments({ member, onChanged }: MemberProps) {
  const { text } = useConsole();
  const [changed, setChanged] = useState<ReadonlyMap<string, FoundComment>>(new Map());
  const comments = (member.last ?? []).map((comment) => changed.get(comment.id) ?? comment);
  return (
    <section class="written stack">
      <h3>{text.lastComments}</h3>
      {comments.length === 0 && <p class="quiet">{text.noComments}</p>}
      <CommentList
        comments={comments}
        onChange={(comment) => setChanged((before) => new Map(before).set(comment.id, comment))}
        onMemberChanged={onChanged}
      />
    </section>
  );
}

/** By an admin, who types the id first. */
function Erasure({ member: { id } }: { member: ModeratedMember }) {
  const { client, text, say } = useConsole();
  const [typed, setTyped] = useState('');
  const [isErasing, setErasing] = useState(false);
  const erase = async (event: SubmitEvent) => {
    event.preventDefault();
    setErasing(true);
    try {
      await client.eraseMember(id);
      say(text.erased);
      location.hash = listHref('members');
    } catch (error) {
      say(`${text.failed} ${problemText(error)}`);
      setErasing(false);
    }
  };
  return (
    <details class="card">
      <summary>{text.eraseMember}</summary>
      <form class="stack" onSubmit={(event) => void erase(event)}>
        <p>{text.eraseText}</p>
        <label class="field">
          {text.eraseConfirm(id)}
          <input
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p class="buttons">
          <button type="submit" class="bad" disabled={typed.trim() !== id || isErasing}>
            {text.erase}
          </button>
        </p>
      </form>
    </details>
  );
}
