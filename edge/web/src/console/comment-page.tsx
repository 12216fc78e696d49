/** The page of one comment, whatever its state. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import { CommentList } from './comment-list.tsx';
import { Problem, useConsole } from './parts.tsx';
import { listHref } from './route.ts';
import type { FoundComment } from './wire.ts';

export function CommentPage({ id }: { id: string }) {
  const { text, hasSearch } = useConsole();
  const { comment, setComment, problem, reload } = useComment(id);
  return (
    <section class="page">
      {hasSearch && (
        <p>
          <a href={listHref('comments')}>{text.comments}</a>
        </p>
      )}
      <h2>{text.oneComment}</h2>
      {comment && <CommentList comments={[comment]} onChange={setComment} hasAuthors />}
      {comment && <Around comment={comment} />}
      {!comment && !problem && <p class="quiet">{text.loading}</p>}
      {problem ? <Missing problem={problem} onRetry={reload} /> : null}
    </section>
  );
}

/** The comment with this id. */
function useComment(id: string) {
  const { client } = useConsole();
  const [comment, setComment] = useState<FoundComment | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const load = useCallback(() => {
    setProblem(null);
    client.comment(id).then(setComment, setProblem);
  }, [client, id]);
  useEffect(load, [load]);
  return { comment, setComment, problem, reload: load };
}

/** Lists that it is in. */
function Around({ comment: { subject, author } }: { comment: FoundComment }) {
  const { text, hasSearch } = useConsole();
  const name = `${subject.type}/${subject.key}`;
  return (
    <p class="links">
      <a href={listHref('subjects', { q: name })}>{text.itsThread}</a>
      {hasSearch && <a href={listHref('comments', { subject: name })}>{text.othersOfThread}</a>}
      {hasSearch && author && (
        <a href={listHref('comments', { member: author.id })}>{text.othersOfAuthor}</a>
      )}
    </p>
  );
}

function Missing({ problem, onRetry }: { problem: unknown; onRetry: () => void }) {
  const { text } = useConsole();
  const isMissing = problem instanceof ApiProblem && problem.code === 'comment_not_found';
  if (!isMissing) return <Problem problem={problem} onRetry={onRetry} />;
  return (
    <p class="problem" role="alert">
      {text.noSuchComment}{' '}
      <button type="button" onClick={onRetry}>
        {text.tryAgain}
      </button>
    </p>
  );
}
