import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJsonLines } from './json-lines.ts';

/** The body of an answer that comes in these chunks. */
function bodyOf(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(body) {
      for (const chunk of chunks) body.enqueue(chunk);
      body.close();
    },
  });
}

async function valuesOf(...chunks: Uint8Array[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readJsonLines(bodyOf(chunks))) values.push(value);
  return values;
}

const bytes = (text: string) => new TextEncoder().encode(text);

test('a value may span chunks, and a character too', async () => {
  const all = bytes('{"reason":"盖楼"}\n{"done":1}\n\n3');
  for (let at = 0; at <= all.length; at += 1) {
    const values = await valuesOf(all.slice(0, at), all.slice(at));
    assert.deepEqual(values, [{ reason: '盖楼' }, { done: 1 }, 3]);
  }
  assert.deepEqual(await valuesOf(), []);
});

test('an answer that is cut off is an error, after what came whole', async () => {
  const values: unknown[] = [];
  await assert.rejects(async () => {
    const body = bodyOf([bytes('{"done":1}\n{"done')]);
    for await (const value of readJsonLines(body)) values.push(value);
  }, SyntaxError);
  assert.deepEqual(values, [{ done: 1 }]);
});
