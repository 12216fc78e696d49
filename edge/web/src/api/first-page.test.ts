import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClient } from './client.ts';
import { firstPageUrl, ROOTS_PER_PAGE, sortOf, USUAL_SORT } from './first-page.ts';
import { listRoots } from './place-calls.ts';

test('the address is that of the first page of a list', async (context) => {
  const asked: string[] = [];
  context.mock.method(globalThis, 'fetch', async (url: string) => {
    asked.push(url);
    return Response.json({ data: [] });
  });
  const client = new ApiClient('https://api.test', {
    token: null,
    findModeratorToken: async () => null,
  });
  for (const [subject, sort] of [
    ['article/a/b c', 'old'],
    ['article/1', USUAL_SORT],
  ] as const) {
    await listRoots(client, subject, { sort: sortOf(sort), limit: ROOTS_PER_PAGE }, {});
    assert.equal(`https://api.test${firstPageUrl(subject, sort)}`, asked.at(-1));
  }
});
