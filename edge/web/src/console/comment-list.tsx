/** Comments of any state, each with the decisions that its state allows; keys act on the one in focus. */

import { safeHtml } from '../dom/safe-html.ts';
import { CommentDetails } from './comment-details.tsx';
import { useCommentDialogs } from './comment-dialogs.tsx';
import { canPin, decided, decisionsFor, isPinned } from './decisions.ts';
import { useKeys } from './keys.ts';
import { CommentHtml, Moment, Pictures, StateTag, useConsole } from './parts.tsx';
import { commentHref, memberHref, threadHref } from './route.ts';
import { useCurrent } from './use-current.ts';
import type { Decision, FoundComment, ModeratedMember } from './wire.ts';

interface ListProps {
  comments: readonly FoundComment[];
  /** Gets a comment that a decision has changed, or taking it back. */
  onChange: (comment: FoundComment) => void;
  onMemberChanged?: (member: ModeratedMember) => void;
  /** Whether the name of each author is shown. */
  hasAuthors?: boolean;
}

/** Carries out a decision, shown before the server has answered. */
function useDecide(onChange: (comment: FoundComment) => void) {
  const { client, text, offerUndo, countAgain } = useConsole();
  return (comment: FoundComment, action: Decision) => {
    const decide = async () => {
      try {
        const { audit_id, ...after } = await client.decideOne(comment.id, action);
        onChange(after);
        countAgain();
        return async () => {
          onChange(await client.undo(audit_id));
          countAgain();
        };
      } catch (error) {
        onChange(comment);
        throw error;
      }
    };
    onChange(decided(comment, action));
    offerUndo(text.decidedOne(text[action], comment.author?.name ?? ''), decide());
  };
}

/** Pins a comment to its subject, or removes the pin; the opposite takes it back. */
function usePin(onChange: (comment: FoundComment) => void) {
  const { client, text, offerUndo } = useConsole();
  return (comment: FoundComment) => {
    const set = async (isWanted: boolean) => {
      onChange({ ...comment, ...(await client.pin(comment.id, isWanted)) });
    };
    const wanted = !isPinned(comment);
    const label = wanted ? text.pin : text.unpin;
    const pin = async () => {
      await set(wanted);
      return () => set(!wanted);
    };
    offerUndo(text.decidedOne(label, comment.author?.name ?? ''), pin());
  };
}

export function CommentList({
  comments,
  onChange,
  onMemberChanged,
  hasAuthors = false,
}: ListProps) {
  const { current, choose, step, list } = useCurrent(comments);
  const decide = useDecide(onChange);
  const pin = usePin(onChange);
  const dialogs = useCommentDialogs(current, onMemberChanged);
  const act = (key: string): boolean => {
    const decision = current && decisionsFor(current).find((one) => one.key === key);
    if (decision) decide(current, decision.action);
    else if (key === 'p' && current && canPin(current)) pin(current);
    else if (key === 'j') step(1);
    else if (key === 'k') step(-1);
    else return dialogs.openByKey(key);
    return true;
  };
  useKeys((key) => act(key));

  return (
    <>
      <ol class="comments" ref={list}>
        {comments.map((comment) => (
          <Card
            key={comment.id}
            comment={comment}
            isCurrent={comment === current}
            hasAuthor={hasAuthors}
            onChoose={() => choose(comment.id)}
            onKey={act}
          />
        ))}
      </ol>
      {dialogs.dialog}
    </>
  );
}

function Card({
  comment,
  isCurrent,
  hasAuthor,
  onChoose,
  onKey,
}: {
  comment: FoundComment;
  isCurrent: boolean;
  hasAuthor: boolean;
  onChoose: () => void;
  onKey: (key: string) => void;
}) {
  const { text } = useConsole();
  const { author, subject, floor, likes, created_at, flags, highlight, html, id, media } = comment;
  return (
    <li
      class={isCurrent ? 'card on' : 'card'}
      data-id={id}
      tabIndex={-1}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <p class="line">
        {hasAuthor && author && (
          <a href={memberHref(author.id)} dir="auto">
            <b>{author.name || text.idOf(author.id)}</b>
          </a>
        )}
        <StateTag comment={comment} />
        {flags.includes('featured') && <span class="tag">{text.featured}</span>}
        {isPinned(comment) && <span class="tag">{text.pinned}</span>}
        <small>
          <a href={commentHref(id)}>
            <Moment at={created_at} />
          </a>
          {likes > 0 && <span class="likes"> · ♥ {likes}</span>}
        </small>
      </p>
      <CommentHtml html={highlight ?? html} />
      {isCurrent && isExcerpt(comment) && (
        <div class="whole">
          <CommentHtml html={html} />
        </div>
      )}
      <Pictures media={media} />
      <p class="line">
        <span class="quiet">
          <a href={threadHref(subject)}>{`${subject.type}/${subject.key}`}</a>
          {floor !== null && (
            <>
              {' '}
              · <a href={commentHref(id)}>{text.floor(floor)}</a>
            </>
          )}
        </span>
        {!isCurrent && (
          <button type="button" class="decide" onClick={onChoose}>
            {text.decide}
          </button>
        )}
      </p>
      {isCurrent && <CommentDetails comment={comment} hasReports={true} />}
      {isCurrent && <CardActions comment={comment} onKey={onKey} />}
    </li>
  );
}

/** Whether what was found is shown without the rest of the text. */
function isExcerpt({ highlight, content }: FoundComment): boolean {
  return highlight !== undefined && safeHtml(highlight).textContent !== content;
}

function CardActions({ comment, onKey }: { comment: FoundComment; onKey: (key: string) => void }) {
  const { text } = useConsole();
  const button = (key: string, label: string, look = '') => (
    <button key={key} type="button" class={look} onClick={() => onKey(key)}>
      {label} <kbd>{key.toUpperCase()}</kbd>
    </button>
  );
  return (
    <div class="buttons" role="toolbar" aria-label={text.action}>
      {decisionsFor(comment).map(({ action, key, look }) => button(key, text[action], look))}
      {canPin(comment) && button('p', isPinned(comment) ? text.unpin : text.pin)}
      {comment.author && button('m', text.mute)}
      {button('w', text.addWord)}
    </div>
  );
}
