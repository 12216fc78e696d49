/** The dictionary of the word filter: found, tried before it is added, removed. */

import { useCallback, useState } from 'preact/hooks';
import { isConflict, MoreButton, Problem, problemText, useConsole, usePages } from './parts.tsx';
import type { Term, TermAction, TermMatches } from './wire.ts';

const TERM_ACTIONS: TermAction[] = ['mask', 'review', 'block'];

export function Words() {
  const { client, text, say } = useConsole();
  const [version, setVersion] = useState(0);
  const [filter, setFilter] = useState('');
  const load = useCallback(
    async (cursor: string | null) => {
      const page = await client.words(cursor);
      setVersion(page.version);
      return page;
    },
    [client],
  );
  const list = usePages<Term>(load);

  const change = async (changes: { add?: Term[]; remove?: string[] }): Promise<boolean> => {
    try {
      await client.changeWords(changes, version);
      say(text.saved);
      list.reload();
      return true;
    } catch (error) {
      say(isConflict(error) ? text.overtaken : `${text.failed} ${problemText(error)}`);
      if (isConflict(error)) list.reload();
      return false;
    }
  };

  const wanted = filter.trim().toLowerCase();
  const shown = list.items.filter(
    ({ term, category }) =>
      term.toLowerCase().includes(wanted) || category.toLowerCase().includes(wanted),
  );
  return (
    <section class="page">
      <h2>
        {text.words} <small class="quiet">{text.version(version)}</small>
      </h2>
      <NewTerm onAdd={(term) => change({ add: [term] })} />
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
            {shown.map(({ term, category, action }) => (
              <tr key={term}>
                <td dir="auto">{term}</td>
                <td dir="auto">{category}</td>
                <td>{text[action]}</td>
                <td>
                  <button
                    type="button"
                    aria-label={`${text.remove} ${term}`}
                    onClick={() => void change({ remove: [term] })}
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

function NewTerm({ onAdd }: { onAdd: (term: Term) => Promise<boolean> }) {
  const { client, text } = useConsole();
  const [term, setTerm] = useState('');
  const [category, setCategory] = useState('');
  const [action, setAction] = useState<TermAction>('review');
  const [matches, setMatches] = useState<TermMatches | null>(null);
  const [problem, setProblem] = useState<unknown>(null);

  const tryTerm = async () => {
    setProblem(null);
    setMatches(null);
    await client.testWord(term).then(setMatches, setProblem);
  };
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(await onAdd({ term, category, action }))) return;
    setTerm('');
    setMatches(null);
  };
  return (
    <form class="card" onSubmit={(event) => void add(event)}>
      <div class="fields">
        <label class="field">
          {text.term}
          <input
            required
            maxLength={100}
            value={term}
            onInput={(event) => {
              setTerm(event.currentTarget.value);
              setMatches(null);
            }}
          />
        </label>
        <label class="field">
          {text.category}
          <input
            required
            maxLength={64}
            value={category}
            onInput={(event) => setCategory(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          {text.action}
          <select
            value={action}
            onChange={(event) => setAction(event.currentTarget.value as TermAction)}
          >
            {TERM_ACTIONS.map((one) => (
              <option key={one} value={one}>
                {text[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="buttons">
        <button type="button" disabled={!term.trim()} onClick={() => void tryTerm()}>
          {text.tryIt}
        </button>
        <button type="submit" class="good">
          {text.addTerm}
        </button>
      </p>
      {problem ? <Problem problem={problem} /> : null}
      {matches && (
        <div role="status">
          <p>{text.matches(matches.count)}</p>
          <ul class="matches">
            {matches.data.slice(0, 20).map(({ id, content }) => (
              <li key={id} dir="auto">
                {content}
              </li>
            ))}
          </ul>
        </div>
      )}
    </form>
  );
}
