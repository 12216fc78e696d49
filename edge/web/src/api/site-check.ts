/**
 * Why a write got no answer: a browser says the same of a server that is away and of one that does not
 * take writes from this site. Two reads without a preflight set them apart: every site may read the
 * first, and only a site that may write the second.
 */

import { ApiProblem } from './problem.ts';

const CHECK_TIMEOUT_MS = 5_000;
/** Its answer, which is a refusal, is for every site. */
const PUBLIC_PATH = '/v1/counts';
/** Its answer is for the sites that may write. */
const SITES_PATH = '/readyz';

/** `site_not_allowed` in the place of a problem without an answer, where the site is why; else the problem. */
export async function explainSilence(
  problem: unknown,
  base: string,
  site = globalThis.location?.origin,
): Promise<unknown> {
  if (!(problem instanceof ApiProblem) || problem.status !== 0 || !site) return problem;
  if (new URL(base, site).origin === site) return problem;
  const isRefused = (await canRead(base + PUBLIC_PATH)) && !(await canRead(base + SITES_PATH));
  return isRefused
    ? new ApiProblem({ status: 403, code: 'site_not_allowed', detail: site })
    : problem;
}

/** Whether an answer came that this page may read, whatever it says. */
async function canRead(url: string): Promise<boolean> {
  try {
    await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    return true;
  } catch {
    return false;
  }
}
