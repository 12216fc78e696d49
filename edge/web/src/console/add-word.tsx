/** A word of a comment is put into the word filter, after a trial. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { NewTerm } from './new-term.tsx';
import { isConflict, Problem, problemText, useConsole } from './parts.tsx';
import type { DictionaryPage, Term } from './wire.ts';

/** Most characters of a selection that are taken. */
const MAX_SELECTED_CHARS = 100;

/** What is selected in the text of a comment, on one line; empty where nothing is. */
export function selectedTerm(): string {
  const selection = getSelection();
  const inside = selection?.anchorNode?.parentElement?.closest('.comment-text, .plain');
  if (!inside) return '';
  const text = String(selection).trim().replace(/\s+/g, ' ');
  return [...text].slice(0, MAX_SELECTED_CHARS).join('');
}

export function AddWordDialog({ term, onClose }: { term: string; onClose: () => void }) {
  const { client, text, say } = useConsole();
  const [page, setPage] = useState<DictionaryPage | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const load = useCallback(() => {
    setProblem(null);
    client.words(null).then(setPage, setProblem);
  }, [client]);
  useEffect(load, [load]);

  const add = async (added: Term): Promise<boolean> => {
    if (!page) return false;
    try {
      await client.changeWords({ add: [added] }, page.version);
      say(text.wordAdded(added.term));
      return true;
    } catch (error) {
      say(isConflict(error) ? text.overtaken : `${text.failed} ${problemText(error)}`);
      if (isConflict(error)) load();
      return false;
    }
  };
  return (
    <Dialog title={text.addWordTitle} onClose={onClose}>
      {(close) => (
        <>
          {problem ? <Problem problem={problem} onRetry={load} /> : null}
          {!page && !problem && <p class="quiet">{text.loading}</p>}
          {page && (
            <NewTerm
              term={term}
              terms={page.data}
              onAdd={async (added) => {
                const isAdded = await add(added);
                if (isAdded) close();
                return isAdded;
              }}
            />
          )}
        </>
      )}
    </Dialog>
  );
}
