/** Threads as JSON lines: all of them handed out, or those of a file taken in. */

import { useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import { problemText, useConsole } from './parts.tsx';
import type { ConsoleText } from './text.ts';
import type { ImportLine, ImportReport, LeftOutReason } from './wire.ts';

/** A sentence for what went wrong; the Worker has neither call. */
function reasonOf(problem: unknown, text: ConsoleText): string {
  const isElsewhere = problem instanceof ApiProblem && problem.code === 'not_found';
  return isElsewhere ? text.transferElsewhere : problemText(problem);
}

/** Most lines that are shown of those that were not imported. */
const SHOWN_LINES = 100;

/** The systems whose exports are read, as they are called on the command line and by people. */
const SYSTEMS = [
  ['disqus', 'Disqus'],
  ['wordpress', 'WordPress'],
  ['remark42', 'remark42'],
  ['artalk', 'Artalk'],
  ['waline', 'Waline, Valine'],
  ['isso', 'Isso'],
  ['twikoo', 'Twikoo'],
  ['commento', 'Commento, Comentario'],
  ['discussions', 'GitHub Discussions, giscus'],
  ['discourse', 'Discourse'],
] as const;

export function Transfer() {
  const { session, text } = useConsole();
  if (session.role !== 'admin') return <p class="page quiet">{text.adminsTransfer}</p>;
  return (
    <section class="page">
      <h2>{text.transfer}</h2>
      <Export />
      <Import />
    </section>
  );
}

function Export() {
  const { client, text, language } = useConsole();
  const [subject, setSubject] = useState('');
  const [bytes, setBytes] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const size = new Intl.NumberFormat(language, {
    style: 'unit',
    unit: 'kilobyte',
    maximumFractionDigits: 0,
  });

  const run = async (event: SubmitEvent) => {
    event.preventDefault();
    setProblem(null);
    setBytes(0);
    try {
      save(await client.exportComments(subject.trim() || null, setBytes), 'gailou-comments.jsonl');
    } catch (error) {
      setProblem(reasonOf(error, text));
    } finally {
      setBytes(null);
    }
  };
  return (
    <form onSubmit={(event) => void run(event)}>
      <fieldset>
        <legend>{text.exportTitle}</legend>
        <p class="quiet">{text.exportText}</p>
        <label class="field">
          {text.subjectOrAll}
          <input value={subject} onInput={(event) => setSubject(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={bytes !== null}>
          {text.exportButton}
        </button>{' '}
        {bytes !== null && <span role="status">{size.format(bytes / 1000)}</span>}
        {problem !== null && <Failure problem={problem} />}
      </fieldset>
    </form>
  );
}

function Failure({ problem }: { problem: string }) {
  const { text } = useConsole();
  return (
    <p class="problem" role="alert">
      {text.failed} {problem}
    </p>
  );
}

/** Hands a file to the browser's downloads. */
function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

interface ImportState {
  progress: { done: number; total: number } | null;
  badLines: ({ line: number; reason: string } | { item: string; reason: string })[];
  leftOut: Partial<Record<LeftOutReason, number>>;
  report: ImportReport | null;
  problem: string | null;
}

const BEGUN: ImportState = {
  progress: null,
  badLines: [],
  leftOut: {},
  report: null,
  problem: null,
};

/** The state after one more line of the answer. */
export function afterLine(state: ImportState, line: ImportLine): ImportState {
  if ('line' in line || 'item' in line) {
    if (state.badLines.length >= SHOWN_LINES) return state;
    return { ...state, badLines: [...state.badLines, line] };
  }
  if ('left_out' in line) return { ...state, leftOut: line.left_out };
  if ('done' in line) return { ...state, progress: line };
  if ('error' in line) return { ...state, problem: line.error };
  return { ...state, report: line };
}

function Import() {
  const { client, text } = useConsole();
  const [file, setFile] = useState<File | null>(null);
  const [isStrict, setStrict] = useState(false);
  const [from, setFrom] = useState('');
  const [type, setType] = useState('');
  const [site, setSite] = useState('');
  const [takesHeld, setTakesHeld] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const [state, setState] = useState<ImportState | null>(null);

  const run = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!file) return;
    setRunning(true);
    setState(BEGUN);
    try {
      for await (const line of client.importComments(file, {
        isStrict,
        from,
        type: type.trim(),
        site: site.trim(),
        takesHeld,
      })) {
        setState((before) => afterLine(before ?? BEGUN, line));
      }
    } catch (error) {
      setState((before) => ({ ...(before ?? BEGUN), problem: reasonOf(error, text) }));
    } finally {
      setRunning(false);
    }
  };
  return (
    <form onSubmit={(event) => void run(event)}>
      <fieldset>
        <legend>{text.importTitle}</legend>
        <p class="quiet">{text.importText}</p>
        <label class="field">
          {text.importFrom}
          <select value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
            <option value="">{text.ownLines}</option>
            {SYSTEMS.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {from && (
          <>
            <p class="quiet">{text.exportOfText}</p>
            <label class="field">
              {text.typeOfPages}
              <input value={type} onInput={(event) => setType(event.currentTarget.value)} />
            </label>
            <label class="field">
              {text.siteOfPages}
              <input value={site} onInput={(event) => setSite(event.currentTarget.value)} />
            </label>
            <label class="check has-text">
              <input
                type="checkbox"
                checked={takesHeld}
                onChange={(event) => setTakesHeld(event.currentTarget.checked)}
              />{' '}
              {text.takeHeld}
            </label>
          </>
        )}
        <label class="field">
          {text.file}
          <input
            type="file"
            accept={from ? undefined : '.jsonl,.ndjson,application/x-ndjson'}
            required
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
          />
        </label>
        <label class="check has-text">
          <input
            type="checkbox"
            checked={isStrict}
            onChange={(event) => setStrict(event.currentTarget.checked)}
          />{' '}
          {text.allOrNone}
        </label>
        <p>
          <button type="submit" disabled={!file || isRunning}>
            {text.importButton}
          </button>
        </p>
        {state && <ImportOutcome state={state} isRunning={isRunning} text={text} />}
      </fieldset>
    </form>
  );
}

function ImportOutcome({
  state: { progress, badLines, leftOut, report, problem },
  isRunning,
  text,
}: {
  state: ImportState;
  isRunning: boolean;
  text: ConsoleText;
}) {
  return (
    <>
      {isRunning && (
        <p>
          {progress ? (
            <progress aria-label={text.importTitle} value={progress.done} max={progress.total} />
          ) : (
            <progress aria-label={text.importTitle} />
          )}{' '}
          {progress && `${progress.done} / ${progress.total}`}
        </p>
      )}
      {report && <p role="status">{text.imported(report)}</p>}
      {problem !== null && <Failure problem={problem} />}
      {Object.keys(leftOut).length > 0 && <p>{text.leftOut(leftOut)}</p>}
      {badLines.length > 0 && (
        <ul class="bad-lines">
          {badLines.map((bad) => {
            const name = 'line' in bad ? text.lineOf(bad.line) : `${bad.item}:`;
            return (
              <li key={name} dir="auto">
                {name} {bad.reason}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
