/** One member, loaded, and changed so that it can be taken back. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { useConsole } from './parts.tsx';
import { formerStanding } from './standing.ts';
import type { ModeratedMember, StandingPatch } from './wire.ts';

/** So long a comment is open before its author and its page are read. */
export const DWELL_MS = 400;

/** The member with this id, after `delayMs` in which the id stays the same. */
export function useMember(id: string | null, delayMs = 0) {
  const { client } = useConsole();
  const [member, setMember] = useState<ModeratedMember | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setMember(null);
    setProblem(null);
    if (!id) return;
    let isMeant = true;
    const timer = setTimeout(() => {
      client.member(id).then(
        (found) => isMeant && setMember(found),
        (error) => isMeant && setProblem(error),
      );
    }, delayMs);
    return () => {
      isMeant = false;
      clearTimeout(timer);
    };
  }, [client, id, delayMs, attempt]);
  const reload = useCallback(() => setAttempt((before) => before + 1), []);
  return { member, setMember, problem, reload };
}

/** A function that changes what is said of a member; `onChanged` gets the member after it, also when it was taken back. */
export function useStanding(onChanged: (member: ModeratedMember) => void) {
  const { client, offerUndo } = useConsole();
  return (id: string, label: string, patch: StandingPatch): Promise<unknown> => {
    const change = async () => {
      const before = await client.member(id);
      onChanged(await client.changeMember(id, patch));
      return async () => onChanged(await client.changeMember(id, formerStanding(before, patch)));
    };
    const done = change();
    offerUndo(label, done);
    return done;
  };
}
