/** The dictionary of the word filter: found, tried before it is added, removed. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { NewTerm } from './new-term.tsx';
import { isConflict, MoreButton, problemText, useConsole, usePages } from './parts.tsx';
import { listHref } from './route.ts';
import type { Term } from './wire.ts';

export function Words({ q }: { q: string }) {
  const { client, text, say, offerUndo } = useConsole();
  const [version, setVersion] = useState(0);
  const [filter, setFilter] = useState(q);
  useEffect(() => setFilter(q), [q]);
  const load = useCallback(
    async (cursor: string | null) => {
      const page = await client.words(cursor);
      setVersion(page.version);
      return page;
    },
    [client],
  );
  const list = usePages<Term>(load);

  const add = async (term: Term): Promise<boolean> => {
    try {
      await client.changeWords({ add: [term] }, version);
      say(text.wordAdded(term.term));
      list.reload();
      return true;
    } catch (error) {
      say(isConflict(error) ? text.overtaken : `${text.failed} ${problemText(error)}`);
      if (isConflict(error)) list.reload();
      return false;
    }
  };
  const remove = (term: Term) => {
    const removed = async () => {
      try {
        await client.changeWords({ remove: [term.term] }, version);
      } finally {
        list.reload();
      }
      return async () => {
        await client.changeWords({ add: [term] });
        list.reload();
      };
    };
    offerUndo(text.wordRemoved(term.term), removed());
  };

  const wanted = filter.trim().toLowerCase();
  const shown = list.items.filter(
    ({ term, category }) =>
      term.toLowerCase().includes(wanted) || category.toLowerCase().includes(wanted),
  );
  return (
    <section class="page">
      <h2>
        {text.words}{' '}
        <small>
          <a href={listHref('audit', { action: 'words' })}>{text.version(version)}</a>
        </small>
      </h2>
      <NewTerm terms={list.items} onAdd={add} />
      <label class="field">
        {text.search}
        <input
          type="search"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </label>
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th scope="col">{text.term}</th>
              <th scope="col">{text.category}</th>
              <th scope="col">{text.action}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {shown.map((term) => (
              <tr key={term.term}>
                <td dir="auto">{term.term}</td>
                <td dir="auto">{term.category}</td>
                <td>{text[term.action]}</td>
                <td>
                  <button
                    type="button"
                    aria-label={`${text.remove} ${term.term}`}
                    onClick={() => remove(term)}
                  >
                    {text.remove}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MoreButton list={list} />
    </section>
  );
}
