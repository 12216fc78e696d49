// The moderators' page: webhooks, their secrets and their deliveries.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, newSubject, tryPostComment } from './support/api.mjs';
import {
  ADMIN,
  admin,
  newMember,
  smallTargets,
  until,
  violations,
  withConsole,
} from './support/console.mjs';
import { BASE, DESKTOP, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import { newText } from './support/page.mjs';

/** An address that no name server knows (RFC 6761), so that no delivery is taken. */
const newAddress = () => `https://${newText('hook').replace(/\W+/g, '-').toLowerCase()}.invalid`;

const card = (page, url) => page.locator('.comments .card', { hasText: url });

async function addWebhook(events = ['comment.created']) {
  const body = { url: newAddress(), events };
  const made = await call('POST', '/v1/admin/webhooks', { body, token: ADMIN() });
  assert.equal(made.status, 201, made.text);
  return made.data;
}

async function removeWebhook({ id }) {
  const removed = await call('DELETE', `/v1/admin/webhooks/${id}`, { token: ADMIN() });
  assert.equal(removed.status, 204);
}

/** A webhook with a delivery that was tried. */
async function triedWebhook() {
  const webhook = await addWebhook();
  const posted = await tryPostComment(newSubject(), newText('sent'), newMember('Hook').token);
  assert.equal(posted.status, 201);
  await until(
    () => admin('GET', `/v1/admin/webhooks/${webhook.id}/deliveries`),
    ({ data }) => data.some(({ attempts }) => attempts > 0),
  );
  return webhook;
}

describe('console: webhooks', {
  skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }),
}, () => {
  test('a webhook is added, its secret shown once, and removed', async () => {
    const url = newAddress();
    await withConsole({ section: 'webhooks', token: ADMIN() }, async (page) => {
      await page.getByLabel('Address').fill(url);
      await page.getByLabel('published').check();
      await page.getByLabel('Form').selectOption('slack');
      await page.getByRole('button', { name: 'Add' }).click();
      const secret = await page.getByLabel('Its secret').inputValue();
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      await card(page, url).getByText('Slack').waitFor();
      await card(page, url).getByText('works').waitFor();
      await page.reload();
      await card(page, url).waitFor();
      assert.equal(await page.getByLabel('Its secret').count(), 0);
      assert.equal((await page.content()).includes(secret), false);

      await card(page, url).getByRole('button', { name: 'Remove' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await card(page, url).getByRole('button', { name: 'Remove' }).click();
      await dialog.getByRole('button', { name: 'Remove' }).click();
      await card(page, url).waitFor({ state: 'detached' });
    });
    const { data } = await admin('GET', '/v1/admin/webhooks');
    assert.equal(
      data.some((webhook) => webhook.url === url),
      false,
    );
  });

  test('an address that is not public is refused with a reason', async () => {
    await withConsole({ section: 'webhooks', token: ADMIN() }, async (page) => {
      await page.getByLabel('Address').fill('https://127.0.0.1/hook');
      await page.getByRole('button', { name: 'Add' }).click();
      await page.getByRole('alert').getByText('must lead to a public address').waitFor();
    });
  });

  test('a delivery that failed is shown and sent again', async () => {
    const webhook = await triedWebhook();
    await withConsole({ section: 'webhooks', token: ADMIN() }, async (page) => {
      await card(page, webhook.url).getByText('failing since').waitFor();
      await card(page, webhook.url).getByRole('link', { name: 'Deliveries' }).click();
      const row = page.locator('tbody tr').first();
      await row.getByText('pending').waitFor();
      await row.getByText('none').waitFor();
      const path = `/v1/admin/webhooks/${webhook.id}/deliveries`;
      const [before] = (await admin('GET', path)).data;
      await row.getByRole('button', { name: 'Deliver again' }).click();
      await page.getByText('It is sent again now.').waitFor();
      await until(
        async () => (await admin('GET', path)).data.find(({ id }) => id === before.id),
        ({ attempts }) => attempts > before.attempts,
      );
      await page.getByRole('link', { name: 'All webhooks' }).click();
      await card(page, webhook.url).waitFor();
    });
    await removeWebhook(webhook);
  });

  test('a moderator reads that only admins see webhooks', async () => {
    await withConsole({ section: 'webhooks' }, async (page) => {
      await page.getByText('Only admins see webhooks.').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Add' }).count(), 0);
    });
  });

  test('it is accessible, light and dark, and fits a phone and its thumb', async () => {
    const webhook = await triedWebhook();
    const looks = [
      { viewport: DESKTOP, colorScheme: 'light' },
      { viewport: DESKTOP, colorScheme: 'dark', locale: 'zh-CN' },
      { viewport: NARROW, colorScheme: 'light' },
      { viewport: NARROW, colorScheme: 'dark', locale: 'zh-CN' },
    ];
    for (const look of looks) {
      for (const section of ['webhooks', `webhooks/${webhook.id}`]) {
        await withConsole({ section, token: ADMIN(), ...look }, async (page) => {
          await page
            .locator(section === 'webhooks' ? '.comments .card' : 'tbody tr')
            .first()
            .waitFor();
          const name = `${section} ${look.colorScheme} ${look.viewport.width}`;
          assert.deepEqual(await violations(page), [], name);
          const overflow = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth - clientWidth;
          });
          assert.equal(overflow, 0, name);
          if (look.viewport === NARROW) assert.deepEqual(await smallTargets(page), [], name);
        });
      }
    }
    await removeWebhook(webhook);
  });
});
