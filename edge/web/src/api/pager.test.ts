import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListQuery, ReadOptions } from './client.ts';
import { ListPager } from './pager.ts';
import { ApiProblem } from './problem.ts';
import type { ListedComment, Page, Subject } from './wire.ts';

interface Call {
  query: ListQuery;
  options: ReadOptions;
}

/** A server that gives these pages, or throws these problems, in their order. */
function scripted(...answers: (Page | ApiProblem)[]) {
  const calls: Call[] = [];
  const fetchPage = async (query: ListQuery, options: ReadOptions) => {
    const answer = answers[calls.length];
    calls.push({ query, options });
    if (!answer || answer instanceof ApiProblem) throw answer ?? new Error('one call too many');
    return { data: answer, isStale: false };
  };
  return { calls, pager: new ListPager(fetchPage, { sort: 'hot', limit: 20 }) };
}

const page = (ids: string[], next: string | null): Page => ({
  data: ids.map((id) => ({ id }) as ListedComment),
  page: { next, epoch: '7' },
  subject: { comments: 3 } as Subject,
});

const idsOf = ({ items }: { items: ListedComment[] }) => items.map(({ id }) => id);

test('cursors are followed to the end', async () => {
  const { calls, pager } = scripted(page(['1', '2'], 'a'), page(['3'], null));
  const first = await pager.next();
  assert.deepEqual(idsOf(first), ['1', '2']);
  assert.equal(first.epoch, 7);
  assert.equal(first.isEnded, false);
  const second = await pager.next();
  assert.deepEqual(idsOf(second), ['3']);
  assert.equal(second.isEnded, true);
  assert.deepEqual(
    calls.map(({ query }) => query.cursor),
    [undefined, 'a'],
  );
  assert.deepEqual(idsOf(await pager.next()), [], 'nothing is fetched after the end');
  assert.equal(calls.length, 2);
});

test('comment is given once', async () => {
  const { pager } = scripted(page(['1', '2'], 'a'), page(['2', '3'], null));
  await pager.next();
  assert.deepEqual(idsOf(await pager.next()), ['3']);
});

test('empty pages are followed', async () => {
  const { calls, pager } = scripted(page([], 'a'), page([], 'b'), page(['1'], 'c'));
  assert.deepEqual(idsOf(await pager.next()), ['1']);
  assert.equal(calls.length, 3);
});

test('ten empty pages are enough', async () => {
  const { calls, pager } = scripted(...Array.from({ length: 20 }, () => page([], 'a')));
  const { isEnded } = await pager.next();
  assert.equal(isEnded, false);
  assert.equal(calls.length, 10);
});

for (const code of ['cursor_expired', 'bad_cursor']) {
  test(`${code} starts again past the caches`, async () => {
    const problem = new ApiProblem({ status: 410, code });
    const { calls, pager } = scripted(page(['1'], 'a'), problem, page(['1', '2'], null));
    await pager.next();
    assert.deepEqual(idsOf(await pager.next()), ['2']);
    assert.deepEqual(calls[2], {
      query: { sort: 'hot', limit: 100 },
      options: { pastCaches: true },
    });
  });
}

test('other problems are thrown and the cursor stays', async () => {
  const problem = new ApiProblem({ status: 503, code: 'unavailable' });
  const { calls, pager } = scripted(page(['1'], 'a'), problem, page(['2'], null));
  await pager.next();
  await assert.rejects(pager.next(), problem);
  assert.deepEqual(idsOf(await pager.next()), ['2']);
  assert.equal(calls[2]?.query.cursor, 'a');
});
