import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_WEBHOOK, shownAddress, webhookRequest } from './webhook-form.ts';

test('a webhook needs an address and an event', () => {
  assert.equal(webhookRequest(NO_WEBHOOK), null);
  assert.equal(webhookRequest({ ...NO_WEBHOOK, url: '  ' }), null);
  const none = Object.fromEntries(Object.keys(NO_WEBHOOK.events).map((event) => [event, false]));
  const events = none as typeof NO_WEBHOOK.events;
  assert.equal(webhookRequest({ ...NO_WEBHOOK, url: 'https://a.example', events }), null);
  assert.deepEqual(webhookRequest({ ...NO_WEBHOOK, url: ' https://a.example ' }), {
    url: 'https://a.example',
    events: ['comment.held', 'comment.reported'],
    template: null,
  });
  const slack = { ...NO_WEBHOOK, url: 'https://a.example', template: 'slack' as const };
  assert.equal(webhookRequest(slack)?.template, 'slack');
});

test('what may be secret of an address is not shown', () => {
  const shown: [string, string][] = [
    ['https://a.example', 'https://a.example'],
    ['https://a.example/hook', 'https://a.example/hook'],
    ['https://hooks.slack.com/services/T00/B00/secret', 'https://hooks.slack.com/services/T0…'],
    ['https://a.example/hook?token=secret', 'https://a.example/hook…'],
    ['no address', '…'],
  ];
  for (const [url, expected] of shown) assert.equal(shownAddress(url), expected);
});
