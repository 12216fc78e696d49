import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ApiClient } from './client.ts';
import { fetchComment, listRoots } from './place-calls.ts';
import { ApiProblem } from './problem.ts';

const LIST = { sort: 'hot', limit: 20 } as const;
const EMPTY = { data: [], subject: { state: 'hidden' } };
const WHOLE = { data: [{ id: '5' }], subject: { state: 'hidden' } };

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Answers reads without a token with `shared`, and those with one with `whole`; notes their tokens. */
function serve(shared: Response | Error, whole: Response | Error) {
  const tokens: (string | null)[] = [];
  globalThis.fetch = async (_, init) => {
    const token = new Headers(init?.headers).get('authorization');
    tokens.push(token);
    const answer = token ? whole : shared;
    if (answer instanceof Error) throw answer;
    return answer.clone();
  };
  return tokens;
}

const clientOf = (moderatorToken: string | null) =>
  new ApiClient('https://api.test', {
    token: 'any',
    findModeratorToken: async () => moderatorToken,
  });
const idsOf = async (client: ApiClient) => {
  const { data } = await listRoots(client, 'article/a', LIST, {});
  return data.data.map(({ id }) => id);
};
const notFound = () => Response.json({ code: 'comment_not_found' }, { status: 404 });

test('only a moderator asks for a hidden list with the token, after asking without', async () => {
  const tokens = serve(Response.json(EMPTY), Response.json(WHOLE));
  assert.deepEqual(await idsOf(clientOf(null)), []);
  assert.deepEqual(tokens.splice(0), [null]);
  assert.deepEqual(await idsOf(clientOf('mine')), ['5']);
  assert.deepEqual(tokens, [null, 'Bearer mine']);
});

test('token is not sent where the subject is not hidden', async () => {
  const tokens = serve(Response.json({ data: [], subject: { state: 'open' } }), new Error());
  assert.deepEqual(await idsOf(clientOf('mine')), []);
  assert.deepEqual(tokens, [null]);
});

test('comment that is not found is asked for with the token', async () => {
  serve(notFound(), Response.json({ id: '5' }));
  assert.equal((await fetchComment(clientOf('mine'), '5')).data.id, '5');
  const isNotFound = (problem: unknown) => problem instanceof ApiProblem && problem.status === 404;
  await assert.rejects(fetchComment(clientOf(null), '5'), isNotFound);
  serve(notFound(), notFound());
  await assert.rejects(fetchComment(clientOf('mine'), '5'), isNotFound);
});

test('moderator gets what every reader gets when the second read fails', async () => {
  serve(Response.json(EMPTY), new TypeError('the preflight failed'));
  assert.deepEqual(await idsOf(clientOf('mine')), []);
});

test('problem of another kind is not asked again', async () => {
  const tokens = serve(Response.json({}, { status: 503 }), Response.json(WHOLE));
  await assert.rejects(idsOf(clientOf('mine')), ApiProblem);
  assert.deepEqual(tokens, [null]);
});
