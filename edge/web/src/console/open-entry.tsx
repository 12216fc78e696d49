/** The comment that is open: what it stands on, and why it is here. */

import { useEffect, useState } from 'preact/hooks';
import type { Comment } from '../api/wire.ts';
import { type Frame as FloorFrame, framesOf, isGap, rowsOf } from '../building/frames.ts';
import { CommentDetails } from './comment-details.tsx';
import { CommentHtml, Pictures, useConsole } from './parts.tsx';
import { commentHref, listHref, memberHref, threadHref } from './route.ts';
import type { ConsoleText } from './text.ts';
import type { QueueEntry, ReviewReason } from './wire.ts';

/** A lease ends after a minute. */
const LEASE_RENEWAL_MS = 30_000;

function reasonText(text: ConsoleText, { kind, detail, count }: ReviewReason): string {
  if (kind === 'report') return text.report(detail, count);
  return text[kind](detail);
}

export function Tag({ reason }: { reason: ReviewReason }) {
  const { text } = useConsole();
  return <span class={`tag ${reason.kind}`}>{reasonText(text, reason)}</span>;
}

/** A reason; one that is a word is a link to the words of its category. */
function Reason({ reason }: { reason: ReviewReason }) {
  if (reason.kind !== 'word') return <Tag reason={reason} />;
  return (
    <a href={listHref('words', { q: reason.detail })}>
      <Tag reason={reason} />
    </a>
  );
}

export function OpenEntry({ entry }: { entry: QueueEntry }) {
  const { text } = useConsole();
  const { comment, context, why, written, published } = entry;
  const holder = useLease(entry);
  const { author, subject, floor } = comment;
  return (
    <article>
      <p class="quiet">
        <a href={threadHref(subject)}>{`${subject.type}/${subject.key}`}</a>
        {floor !== null && ` · ${text.floor(floor)}`} ·{' '}
        <a href={commentHref(comment.id)}>{text.oneComment}</a>
      </p>
      {holder && <p class="problem">{text.leasedBy(holder)}</p>}
      <Building comment={comment} floors={context} />
      <div class="now">
        {author && (
          <a href={memberHref(author.id)} dir="auto">
            <b>{author.name || text.idOf(author.id)}</b>
          </a>
        )}{' '}
        {author?.guest && <span class="tag">{text.guest}</span>}
        <CommentHtml html={comment.html} />
        <Pictures media={comment.media} />
      </div>
      <h2 class="label">{text.whyHere}</h2>
      <p class="names">
        {why.map((reason) => (
          <Reason key={`${reason.kind} ${reason.detail}`} reason={reason} />
        ))}
      </p>
      {published !== null && (
        <>
          <h2 class="label">{text.published}</h2>
          <p class="plain" dir="auto">
            {published}
          </p>
        </>
      )}
      {written !== comment.content && (
        <>
          <h2 class="label">{text.written}</h2>
          <p class="plain" dir="auto">
            {written}
          </p>
        </>
      )}
      <CommentDetails comment={comment} hasReports={why.some(({ kind }) => kind === 'report')} />
    </article>
  );
}

/** What the comment stands on, as far as the queue says it. */
function Building({ comment, floors }: { comment: Comment; floors: Comment[] }) {
  const find = (id: string) => floors.find((floor) => floor.id === id);
  const frame = framesOf(rowsOf(comment.path, find));
  return frame && <Frame frame={frame} />;
}

/** A floor around everything that is older. */
function Frame({ frame }: { frame: FloorFrame<Comment> }) {
  const { text } = useConsole();
  return (
    <div class="frame">
      {frame.inside && <Frame frame={frame.inside} />}
      {frame.rows.map((row) =>
        isGap(row) ? (
          <p key={row.hidden[0]} class="floor quiet">
            {text.moreFloors(row.hidden.length)}
          </p>
        ) : (
          <div key={row.floor.id} class="floor">
            <a
              class="quiet"
              href={commentHref(row.floor.id)}
              aria-label={`${text.oneComment} ${row.number}`}
            >
              {row.number}
            </a>{' '}
            {row.floor.author && (
              <a href={memberHref(row.floor.author.id)} dir="auto">
                {row.floor.author.name || row.floor.author.id}
              </a>
            )}{' '}
            <CommentHtml html={row.floor.html} />
          </div>
        ),
      )}
    </div>
  );
}

/** Takes the comment for this moderator while it is open. Returns the name of another one who has it. */
function useLease({ comment: { id }, leased_by }: QueueEntry): string | null {
  const { client, text } = useConsole();
  const holderName = leased_by?.name || text.anotherModerator;
  const [holder, setHolder] = useState<string | null>(null);
  useEffect(() => {
    let isOpen = true;
    const renew = async () => {
      const leased = await client.lease([id]).catch(() => null);
      if (!isOpen || !leased) return;
      setHolder(leased.leased.includes(id) ? null : holderName);
    };
    void renew();
    const timer = setInterval(() => void renew(), LEASE_RENEWAL_MS);
    return () => {
      isOpen = false;
      clearInterval(timer);
    };
  }, [client, id, holderName]);
  return holder;
}
