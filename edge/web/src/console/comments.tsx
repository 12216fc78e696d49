/** All comments, whatever their state: found by text, thread, author, reports, state and time. */

import { useCallback, useMemo, useState } from 'preact/hooks';
import type { CommentState } from '../api/wire.ts';
import { CommentList } from './comment-list.tsx';
import { MoreButton, useConsole, usePages } from './parts.tsx';
import { listHref } from './route.ts';
import {
  COMMENT_STATES,
  localMinute,
  minuteOfField,
  minuteTime,
  type SearchField,
  type SearchFilter,
  searchFilter,
  searchParameters,
} from './search-filter.ts';
import { timeFormat } from './text.ts';
import type { FoundComment } from './wire.ts';

/** The comments that the address names. */
export function Comments({ parts }: { parts: Readonly<Record<string, string>> }) {
  const { text, hasSearch } = useConsole();
  const filter = useMemo(() => searchFilter(parts), [parts]);
  if (!hasSearch && !filter.reported) {
    return <p class="page quiet">{hasSearch === null ? text.loading : text.noSearch}</p>;
  }
  return <Search filter={filter} />;
}

function Search({ filter }: { filter: SearchFilter }) {
  const { client, text } = useConsole();
  const load = useCallback(
    (cursor: string | null) => client.comments(searchParameters(filter), cursor),
    [client, filter],
  );
  const list = usePages<FoundComment>(load);
  const replace = (changed: FoundComment) =>
    list.change((items) =>
      items.map((item) =>
        item.id === changed.id ? { ...item, ...changed, ...highlightOf(item) } : item,
      ),
    );
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem && !list.next;
  return (
    <section class="page">
      <h2>{text.comments}</h2>
      <SearchForm filter={filter} />
      {isEmpty && <p class="quiet">{text.nothingFound}</p>}
      <CommentList comments={list.items} onChange={replace} hasAuthors />
      <MoreButton list={list} />
    </section>
  );
}

const highlightOf = ({ highlight }: FoundComment) => (highlight === undefined ? {} : { highlight });

/** What is looked for. It is a new address, so it can be kept and sent on. */
function SearchForm({ filter }: { filter: SearchFilter }) {
  const { text, language } = useConsole();
  const [typed, setTyped] = useState(filter);
  const { q: _, state, reported, ...others } = filter;
  const shown = (value: string) => {
    const at = minuteTime(value);
    return at === null ? value : timeFormat(language).format(at);
  };
  const filters = [
    ...(state ? [text.states[state as CommentState]] : []),
    ...(reported ? [text.onlyReported] : []),
    ...Object.values(others).map(shown),
  ];
  const set = (field: SearchField, value: string) =>
    setTyped((before) => ({ ...before, [field]: value.trim() }));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    location.hash = listHref('comments', { ...searchFilter(typed) });
  };
  const input = (field: SearchField, label: string, type: string) => (
    <label class="field">
      {label}
      <input
        type={type}
        dir="auto"
        maxLength={200}
        defaultValue={typed[field] ?? ''}
        onInput={(event) => set(field, event.currentTarget.value)}
      />
    </label>
  );
  /** A day, or a minute where the address has one. */
  const time = (field: 'from' | 'to', label: string) => {
    const at = minuteTime(filter[field]);
    if (at === null) return input(field, label, 'date');
    return (
      <label class="field">
        {label}
        <input
          type="datetime-local"
          defaultValue={localMinute(at)}
          onInput={(event) => set(field, minuteOfField(event.currentTarget.value))}
        />
      </label>
    );
  };
  return (
    <search>
      <form class="card stack" onSubmit={submit}>
        {input('q', text.textOf, 'search')}
        <details>
          <summary>
            {text.moreFilters}{' '}
            {filters.map((one) => (
              <span key={one} class="tag">
                {one}
              </span>
            ))}
          </summary>
          <div class="fields">
            <label class="field">
              {text.state}
              <select
                value={typed.state ?? ''}
                onChange={(event) => set('state', event.currentTarget.value)}
              >
                <option value="">{text.anyState}</option>
                {COMMENT_STATES.map((state) => (
                  <option key={state} value={state}>
                    {text.states[state]}
                  </option>
                ))}
              </select>
            </label>
            {input('subject', text.subject, 'text')}
            {input('member', text.authorId, 'text')}
            {typed.member && (
              <label class="check">
                <input
                  type="checkbox"
                  checked={typed.reported === 'true'}
                  onChange={(event) => set('reported', String(event.currentTarget.checked))}
                />
                {text.onlyReported}
              </label>
            )}
          </div>
          <div class="fields of-time">
            {time('from', text.from)}
            {time('to', text.to)}
          </div>
        </details>
        <p class="buttons">
          <button type="submit" class="good">
            {text.find}
          </button>
          {Object.keys(filter).length > 0 && <a href={listHref('comments')}>{text.clearFilters}</a>}
        </p>
      </form>
    </search>
  );
}
