/** What moderators read of a comment beside its text. */

import { useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import type { Comment } from '../api/wire.ts';
import { Ago, Moment, Problem, useConsole, useNow } from './parts.tsx';
import { memberHref } from './route.ts';
import { timeFormat } from './text.ts';
import type { FormerText, Report } from './wire.ts';

/** Reports and earlier texts, loaded when they are opened; where it was posted from can be blocked. */
export function CommentDetails({ comment, hasReports }: { comment: Comment; hasReports: boolean }) {
  const { client, text } = useConsole();
  const now = useNow();
  const reports = useOpened<Report>(() => client.reports(comment.id));
  const history = useOpened<FormerText>(() => client.history(comment.id));
  return (
    <>
      {hasReports && (
        <details class="reports" onToggle={reports.load}>
          <summary>{text.reports}</summary>
          {reports.problem ? <Problem problem={reports.problem} /> : null}
          {reports.isEmpty && <p class="quiet">{text.none}</p>}
          <ul>
            {reports.items.map(({ member, reason, note, at }) => (
              <li key={member.id}>
                <a href={memberHref(member.id)} dir="auto">
                  {member.name || member.id}
                </a>{' '}
                · {text.report(reason)} · <Ago at={at} now={now} />
                {note && <p dir="auto">{note}</p>}
              </li>
            ))}
          </ul>
        </details>
      )}
      {comment.edited_at !== null && (
        <details class="history" onToggle={history.load}>
          <summary>{text.history}</summary>
          {history.problem ? <Problem problem={history.problem} /> : null}
          {history.isEmpty && <p class="quiet">{text.none}</p>}
          <ol>
            {history.items.map(({ content, replaced_at }) => (
              <li key={replaced_at}>
                <p class="plain" dir="auto">
                  {content}
                </p>
                <small class="quiet">
                  {text.replaced} <Moment at={replaced_at} />
                </small>
              </li>
            ))}
          </ol>
        </details>
      )}
      {!comment.author?.role && <Network id={comment.id} />}
    </>
  );
}

function Network({ id }: { id: string }) {
  const { client, text, language } = useConsole();
  const [until, setUntil] = useState<number | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const block = () => {
    setProblem(null);
    client.blockNetwork(id).then(setUntil, setProblem);
  };
  const isUnknown = problem instanceof ApiProblem && problem.code === 'not_found';
  return (
    <details>
      <summary>{text.network}</summary>
      <p class="quiet">{text.networkText}</p>
      <p class="buttons">
        <button type="button" onClick={block}>
          {text.blockNetwork}
        </button>
      </p>
      <p role="status">
        {until !== null && text.networkIsBlocked(timeFormat(language).format(until))}
        {isUnknown && text.networkUnknown}
      </p>
      {problem && !isUnknown ? <Problem problem={problem} /> : null}
    </details>
  );
}

/** A list that is loaded the first time it is opened. */
function useOpened<Item>(read: () => Promise<{ data: Item[] }>) {
  const [items, setItems] = useState<Item[]>([]);
  const [isEmpty, setEmpty] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const isLoaded = useRef(false);
  const load = () => {
    if (isLoaded.current) return;
    isLoaded.current = true;
    read().then(({ data }) => {
      setItems(data);
      setEmpty(data.length === 0);
    }, setProblem);
  };
  return { items, isEmpty, problem, load };
}
