/** A term for the word filter: tried on the newest comments before it is added. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Problem, useConsole } from './parts.tsx';
import type { Term, TermAction, TermMatches } from './wire.ts';

const TERM_ACTIONS: TermAction[] = ['mask', 'review', 'block'];
/** So many comments are shown at first. */
const FEW_MATCHES = 20;

/** The comments that a term would be found in; null until it was tried. */
function useTrial() {
  const { client } = useConsole();
  const [matches, setMatches] = useState<TermMatches | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const forget = () => {
    setProblem(null);
    setMatches(null);
  };
  const run = async (term: string) => {
    forget();
    await client.testWord(term).then(setMatches, setProblem);
  };
  return { matches, problem, run, forget };
}

export function NewTerm({
  term: firstTerm,
  terms,
  onAdd,
}: {
  /** In a dialog: what is tried at once, or empty; its field, or the next, gets the focus. */
  term?: string;
  /** Those there are, for the names of their categories. */
  terms: readonly Term[];
  /** Returns whether it was added. */
  onAdd: (term: Term) => Promise<boolean>;
}) {
  const { text } = useConsole();
  const [term, setTerm] = useState(firstTerm ?? '');
  const [category, setCategory] = useState('');
  const [action, setAction] = useState<TermAction>('review');
  const trial = useTrial();
  const categoriesId = useId();
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    if (firstTerm === undefined) return;
    form.current?.querySelector<HTMLInputElement>(firstTerm ? 'input[list]' : 'input')?.focus();
    if (firstTerm) void trial.run(firstTerm);
  }, [firstTerm]);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!trial.matches) {
      await trial.run(term);
    } else if (await onAdd({ term, category, action })) {
      setTerm('');
      trial.forget();
    }
  };
  const categories = [...new Set(terms.map((one) => one.category))];
  return (
    <form class="card" ref={form} onSubmit={(event) => void submit(event)}>
      <div class="fields">
        <label class="field">
          {text.term}
          <input
            required
            maxLength={100}
            value={term}
            onInput={(event) => {
              setTerm(event.currentTarget.value);
              trial.forget();
            }}
          />
        </label>
        <label class="field">
          {text.category}
          <input
            required={trial.matches !== null}
            maxLength={64}
            list={categoriesId}
            value={category}
            onInput={(event) => setCategory(event.currentTarget.value)}
          />
          <datalist id={categoriesId}>
            {categories.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
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
        <button type={trial.matches ? 'button' : 'submit'} disabled={!term.trim()}>
          {text.tryIt}
        </button>
        <button type={trial.matches ? 'submit' : 'button'} class="good" disabled={!trial.matches}>
          {text.addTerm}
        </button>
        {!trial.matches && <span class="quiet">{text.tryFirst}</span>}
      </p>
      {trial.problem ? <Problem problem={trial.problem} /> : null}
      {trial.matches && <Matches matches={trial.matches} />}
    </form>
  );
}

function Matches({ matches: { data, count } }: { matches: TermMatches }) {
  const { text } = useConsole();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? data : data.slice(0, FEW_MATCHES);
  return (
    <div role="status">
      <p>{text.matches(count)}</p>
      <ul class="matches">
        {shown.map(({ id, content }) => (
          <li key={id} dir="auto">
            {content}
          </li>
        ))}
      </ul>
      {data.length > shown.length && (
        <button type="button" onClick={() => setWhole(true)}>
          {text.loadMore}
        </button>
      )}
    </div>
  );
}
