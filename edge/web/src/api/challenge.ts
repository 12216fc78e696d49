/** Writes that the server takes after the answer to a challenge. */

import { ApiProblem } from './problem.ts';
import type { Challenge } from './wire.ts';

/** A proof of work may take the place of a widget whose answer could not be verified. */
const MAX_ANSWERS = 2;

/**
 * Sends a write, and again with the answer when the server asks for one. `answer` resolves to null
 * when there is none; then the server's problem stays.
 */
export async function sendAnswering<Result>(
  send: (answer?: string) => Promise<Result>,
  answer: (challenge: Challenge) => Promise<string | null>,
): Promise<Result> {
  let given: string | undefined;
  for (let answers = 0; ; answers += 1) {
    try {
      return await send(given);
    } catch (problem) {
      const challenge = problem instanceof ApiProblem ? problem.challenge : null;
      const next = challenge && answers < MAX_ANSWERS ? await answer(challenge) : null;
      if (next === null) throw problem;
      given = next;
    }
  }
}
