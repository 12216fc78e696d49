/** The comment that is open: what it stands on, and why it is here. */

import { useRef } from 'preact/hooks';
import type { Comment, MemberName } from '../api/wire.ts';
import { type Frame as FloorFrame, framesOf, isGap, rowsOf } from '../building/frames.ts';
import { CommentDetails } from './comment-details.tsx';
import { CommentHtml, Pictures, useConsole } from './parts.tsx';
import { commentHref, listHref, memberHref, threadHref } from './route.ts';
import type { ConsoleText } from './text.ts';
import { useMatchedWords } from './use-matched-words.ts';
import { DWELL_MS } from './use-member.ts';
import { useTitle } from './use-title.ts';
import type { QueueEntry, ReviewReason } from './wire.ts';

function reasonText(text: ConsoleText, { kind, detail, count }: ReviewReason): string {
  if (kind === 'report') return text.reportCount(text.report(detail), count);
  return text[kind](detail);
}

export function Tag({ reason }: { reason: ReviewReason }) {
  const { text } = useConsole();
  return <span class={`tag ${reason.kind}`}>{reasonText(text, reason)}</span>;
}

/** A reason; reports open their list, and a word is a link to the words of its category. */
function Reason({ reason, onReports }: { reason: ReviewReason; onReports: () => void }) {
  if (reason.kind === 'report') {
    return (
      <button type="button" class="of-tag" onClick={onReports}>
        <Tag reason={reason} />
      </button>
    );
  }
  if (reason.kind !== 'word') return <Tag reason={reason} />;
  return (
    <a href={listHref('words', { q: reason.detail })}>
      <Tag reason={reason} />
    </a>
  );
}

/** Another moderator, who has a comment. */
export function Holder({ holder }: { holder: MemberName }) {
  const { text } = useConsole();
  return (
    <span class="bad-text" dir="auto">
      {holder.name ? text.leasedBy(holder.name) : text.isTaken}
    </span>
  );
}

export function OpenEntry({
  entry,
  holder,
  onGoOn,
  isOverruled,
  onOverrule,
}: {
  entry: QueueEntry;
  /** The other moderator who has it. */
  holder: MemberName | null;
  /** Opens the next one that no other moderator has. */
  onGoOn: () => void;
  /** Whether it is decided all the same. */
  isOverruled: boolean;
  onOverrule: () => void;
}) {
  const { text } = useConsole();
  const { comment, context, why, written, published } = entry;
  const { author, subject, floor } = comment;
  const title = useTitle(subject, DWELL_MS);
  const article = useRef<HTMLElement>(null);
  useMatchedWords(article, entry);
  const openReports = () => {
    const reports = article.current?.querySelector<HTMLDetailsElement>('details.reports');
    if (!reports) return;
    reports.open = true;
    reports.querySelector('summary')?.focus();
  };
  return (
    <article ref={article}>
      <p class="quiet">
        {title && <b dir="auto">{title}</b>}{' '}
        <a href={threadHref(subject)}>{`${subject.type}/${subject.key}`}</a> ·{' '}
        <a href={commentHref(comment.id)}>
          {text.oneComment}
          {floor !== null && ` ${text.floor(floor)}`}
        </a>
      </p>
      {holder && (
        <p class="buttons" role="status">
          <Holder holder={holder} />
          <button type="button" onClick={onGoOn}>
            {text.nextFree}
          </button>
          <button type="button" aria-pressed={isOverruled} onClick={onOverrule}>
            {text.decideAnyway}
          </button>
        </p>
      )}
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
          <Reason key={`${reason.kind} ${reason.detail}`} reason={reason} onReports={openReports} />
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
          <p class="plain is-written" dir="auto">
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
  return frame && <Frame frame={frame} thread={threadHref(comment.subject)} />;
}

/** A floor around everything that is older. */
function Frame({ frame, thread }: { frame: FloorFrame<Comment>; thread: string }) {
  const { text } = useConsole();
  return (
    <div class="frame">
      {frame.inside && <Frame frame={frame.inside} thread={thread} />}
      {frame.rows.map((row) =>
        isGap(row) ? (
          <p key={row.hidden[0]} class="floor quiet">
            <a href={thread}>{text.moreFloors(row.hidden.length)}</a>
          </p>
        ) : (
          <div key={row.floor.id} class="floor">
            <a class="quiet" href={commentHref(row.floor.id)}>
              {text.storey(row.number)}
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
