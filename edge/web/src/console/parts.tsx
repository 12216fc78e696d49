/** What several sections show: a problem, a comment's text, a page that is loaded on. */

import { createContext } from 'preact';
import {
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import type { Comment, Media } from '../api/wire.ts';
import { safeHtml } from '../dom/safe-html.ts';
import type { ConsoleClient } from './client.ts';
import type { Session } from './session.ts';
import { ago, type ConsoleText, type Language, timeFormat } from './text.ts';
import type { TakeBack } from './undo.ts';
import type { ListPage } from './wire.ts';

/** What every section may use. */
export interface ConsoleContext {
  client: ConsoleClient;
  session: Session;
  text: ConsoleText;
  language: Language;
  /** Whether the server finds comments; null until it has said so. */
  hasSearch: boolean | null;
  /** Says something in the live region at the foot of the page. */
  say: (message: string) => void;
  /** Reads again how many wait. */
  countAgain: () => void;
  /** Says what is being done, and offers to take it back; says so where it fails. */
  offerUndo: (label: string, done: Promise<TakeBack | null>) => void;
}

const Context = createContext<ConsoleContext | null>(null);

export const ConsoleProvider = Context.Provider;

export function useConsole(): ConsoleContext {
  const found = useContext(Context);
  if (!found) throw new Error('a part of the console outside of it');
  return found;
}

/** A sentence for whatever went wrong. */
export function problemText(problem: unknown): string {
  if (!(problem instanceof ApiProblem)) return String(problem);
  const fields = problem.errors.map(({ field, detail }) => `${field} ${detail}`);
  return fields.length > 0 ? fields.join('; ') : problem.detail || problem.code;
}

export const isConflict = (problem: unknown) =>
  problem instanceof ApiProblem && problem.status === 409;

export function Problem({ problem, onRetry }: { problem: unknown; onRetry?: () => void }) {
  const { text } = useConsole();
  return (
    <p class="problem" role="alert">
      {text.failed} {problemText(problem)}{' '}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {text.tryAgain}
        </button>
      )}
    </p>
  );
}

/** The rendered text of a comment, made anew from an allow-list. */
export function CommentHtml({ html, language }: { html: string; language?: string }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => host.current?.replaceChildren(safeHtml(html)), [html]);
  return <div class="comment-text" dir="auto" lang={language} ref={host} />;
}

/** The pictures of a comment; one that cannot be loaded leaves its description. */
export function Pictures({ media }: { media: Media[] }) {
  if (media.length === 0) return null;
  return (
    <p class="pictures">
      {media.map(({ id, url, alt, width, height }) => (
        <a key={id} href={url} target="_blank" rel="noreferrer">
          <img src={url} alt={alt} width={width} height={height} loading="lazy" />
        </a>
      ))}
    </p>
  );
}

export interface PagedList<Item> {
  items: Item[];
  /** Null while the first page is on its way. */
  next: string | null;
  isLoading: boolean;
  problem: unknown;
  loadMore: () => void;
  reload: () => void;
  /** Shows other items than the server answered, until the list is loaded again. */
  change: (change: (items: Item[]) => Item[]) => void;
}

/** A list that is loaded page by page; `load` must be the same function until another list is meant. */
export function usePages<Item>(
  load: (cursor: string | null) => Promise<ListPage<Item>>,
): PagedList<Item> {
  const [state, setState] = useState({ items: [] as Item[], next: null as string | null });
  const [isLoading, setLoading] = useState(true);
  const [problem, setProblem] = useState<unknown>(null);
  const latest = useRef(0);
  const fetchPage = useCallback(
    async (cursor: string | null) => {
      latest.current += 1;
      const call = latest.current;
      setLoading(true);
      setProblem(null);
      try {
        const page = await load(cursor);
        if (call !== latest.current) return;
        setState((before) => ({
          items: cursor ? [...before.items, ...page.data] : page.data,
          next: page.page.next,
        }));
      } catch (error) {
        if (call === latest.current) setProblem(error);
      } finally {
        if (call === latest.current) setLoading(false);
      }
    },
    [load],
  );
  useEffect(() => void fetchPage(null), [fetchPage]);
  const loadMore = () => void (state.next && !isLoading && fetchPage(state.next));
  const change = useCallback(
    (next: (items: Item[]) => Item[]) =>
      setState((before) => ({ ...before, items: next(before.items) })),
    [],
  );
  return { ...state, isLoading, problem, loadMore, reload: () => void fetchPage(null), change };
}

export function MoreButton<Item>({ list }: { list: PagedList<Item> }) {
  const { text } = useConsole();
  if (list.problem) return <Problem problem={list.problem} onRetry={list.reload} />;
  if (list.isLoading) return <p class="quiet">{text.loading}</p>;
  if (!list.next) return null;
  return (
    <button type="button" class="more" onClick={list.loadMore}>
      {text.loadMore}
    </button>
  );
}

/** The time now, moved on each half minute. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** A day and a time. */
export function Moment({ at }: { at: number }) {
  const { language } = useConsole();
  return <time dateTime={new Date(at).toISOString()}>{timeFormat(language).format(at)}</time>;
}

/** How long ago it was, and on being pointed at, when. */
export function Ago({ at, now }: { at: number; now: number }) {
  const { text, language } = useConsole();
  return (
    <time dateTime={new Date(at).toISOString()} title={timeFormat(language).format(at)}>
      {ago(text, at, now)}
    </time>
  );
}

/** The beginning of a text, as it was typed. */
export function CommentText({ content }: { content: string }) {
  return (
    <p class="start" dir="auto">
      {content}
    </p>
  );
}

/** The state of a comment in a word. */
export function StateTag({ comment: { state } }: { comment: Pick<Comment, 'state'> }) {
  const { text } = useConsole();
  return <span class={`tag is-${state}`}>{text.states[state]}</span>;
}
