import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ApiProblem } from './problem.ts';
import { isRepeatable } from './problem-details.ts';
import { explainSilence } from './site-check.ts';

const BASE = 'https://comments.example';
const SITE = 'https://blog.example';

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Lets the page read the answers of these paths; returns what was asked. */
function readable(...paths: string[]) {
  const asked: string[] = [];
  globalThis.fetch = async (url) => {
    const path = String(url).slice(BASE.length);
    asked.push(path);
    if (!paths.includes(path)) throw new TypeError('Failed to fetch');
    return new Response(null, { status: 400 });
  };
  return asked;
}

const silence = () => new ApiProblem({ detail: 'Failed to fetch' });
const codeOf = async (problem: unknown, base = BASE) => {
  const explained = await explainSilence(problem, base, SITE);
  return explained instanceof ApiProblem ? explained.code : explained;
};

test('server that other sites may read and write is not silent because of the site', async () => {
  readable('/v1/counts', '/readyz');
  assert.equal(await codeOf(silence()), 'network');
  readable();
  assert.equal(await codeOf(silence()), 'network');
});

test('server that is read and not written to refuses the site, which is named', async () => {
  readable('/v1/counts');
  const explained = await explainSilence(silence(), BASE, SITE);
  assert.ok(explained instanceof ApiProblem);
  assert.deepEqual(
    [explained.status, explained.code, explained.detail, isRepeatable(explained)],
    [403, 'site_not_allowed', SITE, false],
  );
});

test('nothing is asked about an answer, an abort, or a page of the server itself', async () => {
  const asked = readable('/v1/counts');
  assert.equal(await codeOf(new ApiProblem({ status: 503, code: 'unavailable' })), 'unavailable');
  const abort = new DOMException('aborted', 'AbortError');
  assert.equal(await codeOf(abort), abort);
  assert.equal(await codeOf(silence(), SITE), 'network');
  assert.equal(await codeOf(silence(), ''), 'network');
  assert.deepEqual(asked, []);
});
