// Ends the process of the tests when one of them hangs, or when many have failed: each of them waits for what does not come,
// and together they would take longer than anybody waits.

import { afterEach, beforeEach } from 'node:test';

/** Several times what the longest test takes on a slow machine. */
const LONGEST_MS = 240_000;
const MOST_FAILURES = 12;

const failures = [];
let timer;

function giveUp(reason) {
  console.error([`given up: ${reason}`, ...failures].join('\ngiven up: '));
  process.exit(1);
}

function expectProgress(after) {
  clearTimeout(timer);
  timer = setTimeout(giveUp, LONGEST_MS, `nothing ends or begins after ${after}`);
  timer.unref();
}

expectProgress('the start');
beforeEach((context) => expectProgress(`the start of "${context.fullName}"`));
afterEach((context) => {
  expectProgress(`the end of "${context.fullName}"`);
  if (context.passed) return;
  const message = `${context.fullName}: ${context.error?.message}`;
  failures.push(message.replaceAll('\n', ' ').slice(0, 500));
  if (failures.length === MOST_FAILURES) giveUp(`${failures.length} tests have failed`);
});
