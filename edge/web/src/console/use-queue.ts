/** The queue of the server, page by page, with the leases and decisions of this moderator. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { MAX_DECISIONS } from './client.ts';
import { useConsole } from './parts.tsx';
import {
  addPage,
  chosen,
  EMPTY,
  isOwn,
  open as openEntry,
  othersHave,
  putBack,
  type ReviewState,
  type TakenEntry,
  take,
} from './review-state.ts';
import type { Decision, DecisionOutcome, QueuePart } from './wire.ts';

/** A lease ends after a minute. Until it is renewed, no call asks for it again. */
const LEASE_RENEWAL_MS = 30_000;

/** What is shown of these comments. */
function versionsOf(taken: readonly TakenEntry[], ids: readonly string[]): Record<string, string> {
  const shown = taken.filter(({ entry }) => ids.includes(entry.comment.id));
  return Object.fromEntries(shown.map(({ entry }) => [entry.comment.id, entry.version]));
}

/** The queue with what can be done in it. */
export function useQueue(kind: QueuePart) {
  const { client, session, say, text, countAgain, offerUndo } = useConsole();
  const [state, setState] = useState<ReviewState>(EMPTY);
  const [isLoading, setLoading] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const gone = useRef(new Set<string>());
  /** Until when the lease of a comment is surely this moderator's, by its id. */
  const leases = useRef(new Map<string, number>());
  /** What is shown as undone before the server has undone it: it is not in the queue yet. */
  const returning = useRef(new Set<string>());

  /** Takes leases, but for those that are this moderator's already. Returns the comments that others have. */
  const lease = useCallback(
    async (ids: readonly string[], isRenewed: boolean): Promise<string[]> => {
      const now = Date.now();
      const wanted = ids.filter((id) => isRenewed || (leases.current.get(id) ?? 0) <= now);
      if (wanted.length === 0) return [];
      const { leased } = await client.lease(wanted);
      for (const id of leased) leases.current.set(id, now + LEASE_RENEWAL_MS);
      return wanted.filter((id) => !leased.includes(id));
    },
    [client],
  );

  const load = useCallback(
    async (cursor: string | null) => {
      setLoading(true);
      setProblem(null);
      try {
        const page = await client.queue(kind, cursor);
        setState((before) =>
          addPage(cursor ? before : { ...EMPTY, reader: session.id }, page, gone.current),
        );
      } catch (error) {
        setProblem(error);
      } finally {
        setLoading(false);
      }
    },
    [client, kind, session.id],
  );

  const reload = useCallback(() => {
    gone.current.clear();
    leases.current.clear();
    return load(null);
  }, [load]);

  useEffect(() => void reload(), [reload]);

  /** Asks who has the comments that no lease was given for. */
  const noteOthers = useCallback(
    async (ids: readonly string[]) => {
      const page = await client.queueHead(kind).catch(() => null);
      setState((before) => othersHave(before, ids, page));
    },
    [client, kind],
  );

  // The open comment is this moderator's while it is open.
  useEffect(() => {
    const id = state.current;
    if (id === null) return;
    let isOpen = true;
    const renew = async () => {
      if (returning.current.has(id)) return;
      const left = await lease([id], true).catch(() => null);
      if (!isOpen || !left) return;
      if (left.length > 0) await noteOthers(left);
      else setState((before) => isOwn(before, id));
    };
    void renew();
    const timer = setInterval(() => void renew(), LEASE_RENEWAL_MS);
    return () => {
      isOpen = false;
      clearInterval(timer);
    };
  }, [lease, noteOthers, state.current]);

  const returnToQueue = (taken: readonly TakenEntry[], isOpened = true) => {
    for (const { entry } of taken) gone.current.delete(entry.comment.id);
    setState((before) => putBack(before, taken, isOpened));
  };

  /** Those of these comments that are this moderator's to decide; the others come back, and stay with who has them. */
  const leaseOf = async (ids: string[], taken: readonly TakenEntry[]): Promise<string[]> => {
    const left = await lease(ids, false);
    if (left.length > 0) {
      returnToQueue(
        taken.filter(({ entry }) => left.includes(entry.comment.id)),
        false,
      );
      say(text.someTaken(left.length));
      await noteOthers(left);
    }
    return ids.filter((id) => !left.includes(id));
  };

  /** Carries out a decision about entries that were taken from the queue; those that fail come back. */
  const carryOut = async (
    ids: string[],
    action: Decision,
    taken: readonly TakenEntry[],
    overrules: boolean,
  ) => {
    let outcomes: DecisionOutcome[] = [];
    try {
      const own = overrules ? ids : await leaseOf(ids, taken);
      // A decision ends the lease.
      for (const id of own) leases.current.delete(id);
      if (own.length > 0) outcomes = await client.decide(own, action, versionsOf(taken, own));
    } catch (error) {
      returnToQueue(taken);
      throw error;
    }
    countAgain();
    const isIn = (all: ReadonlySet<string>) => (one: TakenEntry) => all.has(one.entry.comment.id);
    const withStatus = (isWanted: (status: number) => boolean) =>
      new Set(outcomes.filter(({ status }) => isWanted(status)).map(({ id }) => id));
    const failed = withStatus((status) => status !== 200);
    if (failed.size > 0) {
      returnToQueue(taken.filter(isIn(failed)));
      const changed = withStatus((status) => status === 409);
      await sayWhatFailed(failed.size, [...changed]);
    }
    const auditIds = outcomes.flatMap(({ audit_id }) => (audit_id ? [audit_id] : []));
    const decided = withStatus((status) => status === 200);
    return auditIds.length > 0 ? () => takeBack(auditIds, taken.filter(isIn(decided))) : null;
  };

  /** The `changed` ones are not what was shown any more: what they are now is what is decided about next. */
  const sayWhatFailed = async (failed: number, changed: readonly string[]) => {
    const [first] = changed;
    say(first ? text.someChanged(changed.length) : text.someFailed(failed));
    if (!first) return;
    await reload();
    setState((before) => openEntry(before, first));
  };

  /** Undoes decisions; a sentence where not all could be undone. One that cannot is no reason to leave the others. */
  const takeBack = async (auditIds: readonly string[], undone: readonly TakenEntry[]) => {
    const ids = undone.map(({ entry }) => entry.comment.id);
    for (const id of ids) returning.current.add(id);
    returnToQueue(undone);
    const problems: unknown[] = [];
    for (const id of auditIds) await client.undo(id).catch((problem) => problems.push(problem));
    for (const id of ids) returning.current.delete(id);
    countAgain();
    if (problems.length === 0) {
      // Where that fails, the next one to renew says whose it is.
      await lease(ids, true).catch(() => []);
      return undefined;
    }
    void reload();
    if (problems.length === auditIds.length) throw problems[0];
    return text.someNotUndone(problems.length);
  };

  /** About these comments; about the marked ones, else the open one, where none are named. */
  const decide = (action: Decision, named: readonly string[] = chosen(state)) => {
    const ids = named.slice(0, MAX_DECISIONS);
    if (ids.length === 0) return;
    // What is featured still waits.
    const { state: next, taken } = action === 'feature' ? { state, taken: [] } : take(state, ids);
    setState(next);
    for (const { entry } of taken) gone.current.add(entry.comment.id);
    const done = carryOut(ids, action, taken, ids.join() === state.overruled);
    offerUndo(text.done(text[action], ids.length), done);
  };

  return { state, setState, isLoading, problem, load, reload, decide };
}
