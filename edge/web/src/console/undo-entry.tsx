/** Undo at an entry of the audit log, and what came of it. */

import { useState } from 'preact/hooks';
import type { Comment } from '../api/wire.ts';
import { isConflict, problemText, StateTag, useConsole } from './parts.tsx';
import type { AuditRecord } from './wire.ts';

export function UndoEntry({
  record,
  isOffered,
  name,
  onUndone,
}: {
  record: AuditRecord;
  /** Whether the server may be asked to. */
  isOffered: boolean;
  /** What the entry says, for screen readers. */
  name: string;
  onUndone: () => void;
}) {
  const { client, text, say, countAgain } = useConsole();
  const [isUnderWay, setUnderWay] = useState(false);
  const [undone, setUndone] = useState<Comment | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const undo = async () => {
    setUnderWay(true);
    setProblem(null);
    try {
      setUndone(await client.undo(record.id));
      say(text.undone);
      countAgain();
      onUndone();
    } catch (error) {
      setProblem(error);
    }
    setUnderWay(false);
  };
  if (undone) {
    return (
      <p>
        {text.undone} <StateTag comment={undone} />
      </p>
    );
  }
  if (isConflict(problem)) {
    return (
      <p class="problem" role="alert">
        {text.notUndone}
      </p>
    );
  }
  if (!isOffered) return null;
  return (
    <>
      <button
        type="button"
        aria-label={`${text.undo}: ${name}`}
        disabled={isUnderWay}
        onClick={() => void undo()}
      >
        {text.undo}
      </button>
      {problem !== null && (
        <p class="problem" role="alert">
          {text.failed} {problemText(problem)}
        </p>
      )}
    </>
  );
}
