import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendAnswering } from './challenge.ts';
import { ApiProblem } from './problem.ts';

const challenge = (sitekey: string) =>
  new ApiProblem({ status: 403, code: 'challenge_required', challenge: { sitekey } });

/** Refuses as often as there are problems; notes what was sent. */
function server(problems: Error[]) {
  const sent: (string | undefined)[] = [];
  const send = async (answer?: string) => {
    sent.push(answer);
    const problem = problems.shift();
    if (problem) throw problem;
    return 'done';
  };
  return { sent, send };
}

const answer = async (asked: object) => `answer to ${Object.values(asked)}`;

test('write without a challenge is sent once', async () => {
  const { sent, send } = server([]);
  assert.equal(await sendAnswering(send, answer), 'done');
  assert.deepEqual(sent, [undefined]);
});

test('each challenge is answered, twice at most', async () => {
  const two = server([challenge('a'), challenge('b')]);
  assert.equal(await sendAnswering(two.send, answer), 'done');
  assert.deepEqual(two.sent, [undefined, 'answer to a', 'answer to b']);
  const three = server([challenge('a'), challenge('b'), challenge('c')]);
  await assert.rejects(sendAnswering(three.send, answer), { code: 'challenge_required' });
  assert.equal(three.sent.length, 3);
});

test('problem stays when there is no answer, and when it is another one', async () => {
  const { sent, send } = server([challenge('a')]);
  await assert.rejects(
    sendAnswering(send, async () => null),
    { code: 'challenge_required' },
  );
  assert.deepEqual(sent, [undefined]);
  const muted = server([new ApiProblem({ status: 403, code: 'muted' })]);
  await assert.rejects(sendAnswering(muted.send, answer), { code: 'muted' });
});
