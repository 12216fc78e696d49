import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { DelayedDrops } from './delayed-drops.ts';

test('a drop is sent when its time is over, and one that was cancelled never', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const sent: string[] = [];
  const drops = new DelayedDrops();
  const drop = (id: string) =>
    drops.add(id, 10, async () => {
      sent.push(id);
    });
  drop('1');
  drop('2');
  drops.cancel('2');
  mock.timers.tick(9);
  assert.deepEqual([sent, drops.has('1'), drops.has('2')], [[], true, false]);
  mock.timers.tick(1);
  assert.deepEqual(sent, ['1']);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(drops.has('1'), false);
  mock.timers.reset();
});
