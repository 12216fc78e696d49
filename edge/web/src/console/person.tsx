/** What is known of a member: their tags, counts, other names, beside a comment and on their own page. */

import { Ago, CommentText, StateTag, useConsole, useNow } from './parts.tsx';
import { commentHref, listHref, memberHref } from './route.ts';
import { mutedUntil } from './standing.ts';
import { mutedText } from './text.ts';
import type { MemberCounts, ModeratedMember } from './wire.ts';

/** So many of the last comments are shown beside a comment. */
const FEW_COMMENTS = 5;

export function MemberTags({ member }: { member: ModeratedMember }) {
  const { text, language } = useConsole();
  const until = mutedUntil(member, useNow());
  const level = member.level ?? member.account?.level ?? member.token_level;
  return (
    <span class="tags">
      {member.guest && <span class="tag">{text.guest}</span>}
      {member.role && <span class="tag">{text.roles[member.role]}</span>}
      {level > 0 && <span class="tag">{text.levelOf(level)}</span>}
      {until !== null && <span class="tag report">{mutedText(text, language, until)}</span>}
    </span>
  );
}

/** How many comments are published, held, rejected and reported; each a link to them. Only reported ones need no search. */
export function Counts({ id, counts }: { id: string; counts: MemberCounts }) {
  const { text, hasSearch } = useConsole();
  const rows = [
    { name: text.countPublished, count: counts.published, which: { state: 'published' } },
    { name: text.countHeld, count: counts.held, which: { state: 'review' } },
    { name: text.countRejected, count: counts.rejected, which: { state: 'rejected' } },
    { name: text.countReported, count: counts.reported, which: { reported: 'true' } },
  ];
  return (
    <>
      <ShareBar counts={counts} />
      <dl class="counts">
        {rows.map(({ name, count, which }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {(hasSearch || 'reported' in which) && count > 0 ? (
                <a href={listHref('comments', { member: id, ...which })}>{count}</a>
              ) : (
                <span class="quiet">{count}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {!counts.complete && <p class="quiet">{text.countIncomplete}</p>}
    </>
  );
}

/** The shares of what is published, held and rejected. The numbers stand beside it. */
function ShareBar({ counts: { published, held, rejected } }: { counts: MemberCounts }) {
  const all = published + held + rejected;
  if (all === 0) return null;
  const isWhole = { viewBox: `0 0 ${all} 1`, preserveAspectRatio: 'none' };
  return (
    <svg class="share" aria-hidden="true" {...isWhole}>
      <rect class="share-good" width={published} height="1" />
      <rect class="share-warn" x={published} width={held} height="1" />
      <rect class="share-bad" x={published + held} width={rejected} height="1" />
    </svg>
  );
}

export function Names({ title, names }: { title: string; names: readonly string[] | undefined }) {
  if (!names?.length) return null;
  return (
    <p class="names">
      <span class="quiet">{title}</span>{' '}
      {names.map((name) => (
        <bdi key={name} class="tag">
          {name}
        </bdi>
      ))}
    </p>
  );
}

/** The author of the comment that is open. */
export function Person({ member }: { member: ModeratedMember }) {
  const { text } = useConsole();
  const now = useNow();
  return (
    <aside class="about" aria-label={text.aboutMember}>
      <p class="line">
        <a href={memberHref(member.id)} dir="auto">
          <b>{member.name || text.idOf(member.id)}</b>
        </a>
        <MemberTags member={member} />
      </p>
      {member.counts && <Counts id={member.id} counts={member.counts} />}
      <Names title={text.otherNames} names={member.names} />
      {member.note && (
        <p class="plain note" dir="auto">
          {member.note}
        </p>
      )}
      <h2 class="label">{text.lastComments}</h2>
      <ul class="last">
        {member.last?.slice(0, FEW_COMMENTS).map((comment) => (
          <li key={comment.id}>
            <StateTag comment={comment} />{' '}
            <small>
              <a class="quiet" href={commentHref(comment.id)}>
                <Ago at={comment.created_at} now={now} />
              </a>
            </small>
            <CommentText content={comment.content} />
          </li>
        ))}
      </ul>
    </aside>
  );
}
