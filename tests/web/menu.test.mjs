// What opens beside a comment: its menu, a report, mutes, decisions of moderators, the card of its author, and the offer to undo.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  call,
  callUntil,
  guestToken,
  listWithRoots,
  memberToken,
  newSubject,
  postComment,
  subjectPath,
} from './support/api.mjs';
import { admin, lastAction, MODERATOR, newMember, until, violations } from './support/console.mjs';
import { BASE, NARROW, skipWithout, TOKEN_SECRET } from './support/environment.mjs';
import {
  assertAttribute,
  assertVisible,
  comments,
  commentWith,
  isFocused,
  listIsLoaded,
  mainForm,
  newText,
  openForm,
  postOnPage,
  sendForm,
  usedPartsRun,
  withPage,
} from './support/page.mjs';

const menu = (page) => page.getByRole('menu', { name: 'More' });
const menuButton = (comment) => comment.getByRole('button', { name: 'More', exact: true });
const bar = (page, sentence) => page.getByRole('group', { name: sentence, exact: true });
const undo = (page) => page.locator('.undo').getByRole('button', { name: 'Undo' });
const card = (page) => page.locator('gailou-comments [role="dialog"].profile');

async function openMenu(page, comment) {
  await menuButton(comment).click();
  await menu(page).waitFor();
}

async function choose(page, comment, name) {
  await openMenu(page, comment);
  await menu(page).getByRole('menuitem', { name }).click();
}

/** Without the demo page's link to the comments: axe takes it for a skip link only where no other link is on the page. */
const faults = async (page) =>
  (await violations(page)).filter((fault) => !fault.includes('Skip to the comments'));

const labels = (page) => menu(page).getByRole('menuitem').allTextContents();

/** A subject with a comment of a member of its own. */
async function threadOf(name, what = 'A comment') {
  const [subject, member, text] = [newSubject(), newMember(name), newText(what)];
  const { id } = await postComment(subject, text, member.token);
  await listWithRoots(subject, 1);
  return { subject, member, text, id };
}

/** The page of a reader whom the site has signed in. */
function withReader(token, subject, options, steps) {
  return withPage(subject, options, async (page) => {
    await page.locator('gailou-comments').evaluate((node, value) => {
      node.token = value;
    }, token);
    await steps(page);
  });
}

const needed = { skip: skipWithout({ E2E_BASE: BASE, E2E_TOKEN_SECRET: TOKEN_SECRET }) };

describe('menu of a comment', needed, () => {
  test('keys open it, go round in it, and Esc gives the focus back', async () => {
    const { subject, text } = await threadOf('Ann');
    await withPage(subject, {}, async (page) => {
      const comment = commentWith(page, text);
      const button = menuButton(comment);
      // The focus scrolls the comment into view.
      await comment.locator('.act.like').focus();
      await usedPartsRun(page);
      const before = await comment.boundingBox();
      await until(
        async () => {
          await page.keyboard.press('ArrowLeft');
          return page
            .locator('gailou-comments')
            .evaluate(({ shadowRoot }) => shadowRoot.activeElement.className);
        },
        (name) => name === 'more act',
      );
      for (const key of ['ArrowDown', 'Enter', 'Space']) {
        await page.keyboard.press(key);
        await menu(page).waitFor();
        await assertAttribute(button, 'aria-expanded', 'true');
        const items = menu(page).getByRole('menuitem');
        assert.equal(await isFocused(items.first()), true);
        await page.keyboard.press('ArrowUp');
        assert.equal(await isFocused(items.last()), true);
        await page.keyboard.press('ArrowDown');
        assert.equal(await isFocused(items.first()), true);
        await page.keyboard.press('r');
        assert.match(await items.nth(1).textContent(), /^Report/);
        assert.equal(await isFocused(items.nth(1)), true, 'what begins with the letter');
        await page.keyboard.press('Escape');
        assert.equal(await menu(page).count(), 0);
        assert.equal(await isFocused(button), true);
        await assertAttribute(button, 'aria-expanded', 'false');
      }
      assert.equal(
        await page.locator('form.composer:not(.closed)').count(),
        0,
        'no key of letters',
      );
      assert.deepEqual(await comment.boundingBox(), before, 'nothing moved');
      await openMenu(page, comment);
      await button.click();
      await menu(page).waitFor({ state: 'detached' });
      await openMenu(page, comment);
      await page.mouse.click(5, 5);
      assert.equal(await menu(page).count(), 0, 'a press elsewhere closes it');
    });
  });

  test('link is copied, and shared where the browser can', async () => {
    const { subject, text, id } = await threadOf('Ann');
    const prepare = (context) =>
      context.addInitScript(() => {
        navigator.share = async (what) => {
          window.shared = what;
        };
      });
    const options = { prepare, permissions: ['clipboard-read', 'clipboard-write'] };
    await withPage(subject, options, async (page) => {
      const comment = commentWith(page, text);
      await choose(page, comment, 'Copy link');
      await assertVisible(page.locator('[aria-live]').getByText('Link copied'), 'it is said');
      await assertVisible(menu(page).getByText('Link copied'), 'it is shown');
      await menu(page).waitFor({ state: 'detached' });
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(new URL(copied).hash, `#comment-${id}`);
      await choose(page, comment, 'Share');
      const { url } = await page.evaluate(() => window.shared);
      assert.equal(url, copied);
    });
  });

  test('earlier texts are shown where the installation says so, with what was changed', async () => {
    const { subject, member, text, id } = await threadOf('Ann', 'I like tea');
    const edit = async (content) => {
      const { status, text: answer } = await call('PATCH', `/v1/comments/${id}`, {
        body: { content },
        token: member.token,
      });
      assert.equal(status, 200, answer);
    };
    // As the page asks for it: an older one in a cache gets the new text by an event.
    const list = `/v1/subjects/${subject}/comments?sort=hot&limit=20&view=compact`;
    const isShown = (content) =>
      callUntil(list, ({ data }) => data.data[0]?.html.trim() === `<p>${content}</p>`);
    await edit(text.replace('tea', 'coffee'));
    await edit(text.replace('tea', 'coffee a lot'));
    await isShown(text.replace('tea', 'coffee a lot'));
    await withPage(subject, {}, async (page) => {
      await openMenu(page, commentWith(page, 'coffee a lot'));
      assert.ok(!(await labels(page)).includes('Earlier texts'));
    });
    await admin('PATCH', '/v1/admin/settings', { rules: { show_earlier_texts: true } });
    try {
      await edit(text.replace('tea', 'cocoa'));
      await isShown(text.replace('tea', 'cocoa'));
      await callUntil(list, ({ data }) => data.subject.earlier_texts);
      await withPage(subject, { viewport: NARROW }, async (page) => {
        const comment = commentWith(page, 'cocoa');
        await choose(page, comment, 'Earlier texts');
        const dialog = page.getByRole('dialog', { name: 'Earlier texts' });
        const texts = dialog.locator('.earlier-text');
        await texts.nth(2).waitFor();
        assert.deepEqual(
          await texts.allTextContents(),
          ['coffee a lot', 'coffee', 'tea'].map((drink) => text.replace('tea', drink)),
        );
        assert.deepEqual(await dialog.locator('mark').allTextContents(), ['coffee a lot', 'tea']);
        assert.deepEqual(await faults(page), []);
        await page.keyboard.press('Escape');
        await until(() => isFocused(menuButton(comment)), Boolean);
      });
    } finally {
      await admin('PATCH', '/v1/admin/settings', { rules: { show_earlier_texts: null } });
    }
  });

  test('guest without a name reports once, with a reason and a note', async () => {
    const { subject, text, id } = await threadOf('Ann');
    const guests = [];
    const prepare = (context) =>
      context.route('**/v1/guests', (route) => {
        guests.push(route.request().postDataJSON());
        return route.fallback();
      });
    await withPage(subject, { prepare, viewport: NARROW }, async (page) => {
      const comment = commentWith(page, text);
      await choose(page, comment, 'Report…');
      const dialog = page.getByRole('dialog', { name: 'Report this comment' });
      assert.deepEqual(await faults(page), []);
      await dialog.getByRole('radio', { name: 'Insults or hatred' }).check();
      await dialog.getByLabel(/^Note/).fill('see the second word');
      await dialog.getByRole('button', { name: 'Report', exact: true }).click();
      await assertVisible(dialog.getByText('Thank you.'), 'thanks');
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      assert.equal(await isFocused(menuButton(comment)), true);
      assert.deepEqual(guests, [{}]);
      const { data } = await admin('GET', `/v1/admin/comments/${id}/reports`);
      assert.deepEqual(
        data.map(({ reason, note }) => [reason, note]),
        [['abuse', 'see the second word']],
      );
      await openMenu(page, comment);
      await assertAttribute(
        menu(page).getByRole('menuitem', { name: 'Reported' }),
        'aria-disabled',
        'true',
      );
    });
  });

  test('report answers a proof of work where guests have to', async () => {
    const { subject, text, id } = await threadOf('Ann');
    await admin('PATCH', '/v1/admin/settings', { challenge: { guests: 'always' } });
    try {
      await withPage(subject, {}, async (page) => {
        await choose(page, commentWith(page, text), 'Report…');
        const dialog = page.getByRole('dialog', { name: 'Report this comment' });
        await dialog.getByRole('button', { name: 'Report', exact: true }).click();
        await assertVisible(dialog.getByText('Thank you.'), 'thanks');
      });
    } finally {
      await admin('PATCH', '/v1/admin/settings', { challenge: null });
    }
    const { data } = await admin('GET', `/v1/admin/comments/${id}/reports`);
    assert.equal(data.length, 1);
  });

  test('muted author is a line for this reader, also after a reload, until that is undone', async () => {
    const { subject, member, text } = await threadOf('Noisy');
    const other = newText('Another');
    await postComment(subject, other, await guestToken());
    await listWithRoots(subject, 2);
    await withPage(subject, {}, async (page) => {
      await choose(page, commentWith(page, text), `Mute ${member.name} for me`);
      const note = page.getByText(`You have muted ${member.name}`);
      await assertVisible(note, 'the line');
      assert.equal(await page.getByText(text).count(), 0);
      await assertVisible(page.getByText(other), 'the others stay');
      assert.deepEqual(await faults(page), []);
      await page.reload();
      await listIsLoaded(page);
      await assertVisible(note, 'after a reload');
      assert.equal(await page.getByText(text).count(), 0);
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await assertVisible(page.getByText(text), 'for now');
      await page.reload();
      await page.getByRole('button', { name: `Unmute ${member.name}` }).click();
      await assertVisible(page.getByText(text), 'for good');
      await page.reload();
      await assertVisible(page.getByText(text), 'after a reload');
      const keys = await page.evaluate(() => Object.keys(localStorage));
      assert.deepEqual(
        keys.filter((key) => key.startsWith('gailou:muted')),
        [],
      );
    });
  });
});

describe('moderators beside a comment', needed, () => {
  test('readers have none of it, moderators do, with the address in the console', async () => {
    const { subject, member, text, id } = await threadOf('Ann');
    await withPage(subject, {}, async (page) => {
      await openMenu(page, commentWith(page, text));
      const share = await page.evaluate(() => 'share' in navigator);
      assert.deepEqual(await labels(page), [
        'Copy link',
        ...(share ? ['Share'] : []),
        'Report…',
        `Mute ${member.name} for me`,
      ]);
    });
    await withReader(MODERATOR(), subject, { colorScheme: 'dark' }, async (page) => {
      await openMenu(page, commentWith(page, text));
      const all = (await labels(page)).filter((label) => label !== 'Share');
      assert.deepEqual(all, [
        ...['Copy link', `Mute ${member.name} for me`, 'Pin', 'Feature', 'Hide', 'Reject'],
        ...[`Block ${member.name} for 7 days`, 'Open in the console'],
      ]);
      assert.deepEqual(await faults(page), []);
      const link = menu(page).getByRole('menuitem', { name: 'Open in the console' });
      const address = new URL(await link.getAttribute('href'), BASE);
      assert.equal(address.pathname, '/console');
      assert.equal(address.hash, `#/comments/${id}`);
    });
  });

  test('comment is hidden at once, and undone', async () => {
    const { subject, text, id } = await threadOf('Ann');
    await withReader(MODERATOR(), subject, {}, async (page) => {
      const comment = page.locator(`article[data-id="${id}"]`);
      await choose(page, comment, 'Hide');
      await assertVisible(bar(page, 'Hidden'), 'the offer');
      assert.equal(await comment.isVisible(), false);
      assert.equal(await isFocused(undo(page)), true);
      await until(
        () => lastAction(id),
        (action) => action === 'hide',
      );
      await undo(page).click();
      await assertVisible(page.getByText(text), 'it is back');
      await until(
        () => lastAction(id),
        (action) => action === 'undo',
      );
      const { data } = await call('GET', `/v1/comments/${id}`, { token: MODERATOR() });
      assert.equal(data.state, 'published');
    });
  });

  test('comment is pinned and featured, and what is refused comes back with its reason', async () => {
    const { subject, text, id } = await threadOf('Ann');
    const refuse = { now: false };
    const prepare = (context) =>
      context.route('**/pin', (route) =>
        refuse.now
          ? route.fulfill({
              status: 400,
              contentType: 'application/problem+json',
              body: JSON.stringify({
                code: 'invalid_request',
                errors: [{ field: 'id', detail: '10 comments are pinned here already' }],
              }),
            })
          : route.fallback(),
      );
    await withReader(MODERATOR(), subject, { prepare }, async (page) => {
      const comment = commentWith(page, text);
      await choose(page, comment, 'Pin');
      await assertVisible(comment.locator('.badge.pinned'), 'the seal');
      await callUntil(`/v1/comments/${id}`, ({ data }) => data.flags.includes('pinned'));
      await undo(page).click();
      assert.equal(await comment.locator('.badge.pinned').count(), 0);
      await callUntil(`/v1/comments/${id}`, ({ data }) => !data.flags.includes('pinned'));
      await choose(page, comment, 'Feature');
      await assertVisible(comment.locator('.badge.featured'), 'the seal');
      await callUntil(`/v1/comments/${id}`, ({ data }) => data.flags.includes('featured'));
      refuse.now = true;
      await choose(page, comment, 'Pin');
      await assertVisible(comment.getByText('10 comments are pinned here already'), 'the reason');
      assert.equal(await comment.locator('.badge.pinned').count(), 0);
      assert.equal(await page.locator('.undo').count(), 0);
    });
  });

  test('member is muted for a week, and that is undone', async () => {
    const { subject, member, text } = await threadOf('Ann');
    const mutedUntil = async () =>
      (await admin('GET', `/v1/admin/members/${member.id}`)).muted_until;
    await withReader(MODERATOR(), subject, {}, async (page) => {
      await choose(page, commentWith(page, text), `Block ${member.name} for 7 days`);
      const end = await until(mutedUntil, (at) => at > Date.now());
      assert.ok(Math.abs(end - Date.now() - 7 * 86_400_000) < 60_000);
      await undo(page).click();
      await until(mutedUntil, (at) => !at);
    });
  });

  test('owner of the thread is marked, and may pin', async () => {
    const { subject, member, text } = await threadOf('Olga');
    await admin('PUT', `/v1/admin/subjects/${subjectPath(subject)}`, { owner_id: member.id });
    await callUntil(
      `/v1/subjects/${subjectPath(subject)}/comments`,
      ({ data }) => data.subject.owner_id === member.id,
    );
    await withReader(member.token, subject, {}, async (page) => {
      const comment = commentWith(page, text);
      assert.equal(await comment.locator('.badge.owner').textContent(), 'OP');
      await openMenu(page, comment);
      const all = (await labels(page)).filter((label) => label !== 'Share');
      assert.deepEqual(all, ['Copy link', 'Pin']);
    });
  });
});

describe('deletion', needed, () => {
  test('comment is gone at once, and comes back by Undo before the server hears of it', async () => {
    await withPage(newSubject(), {}, async (page) => {
      await postOnPage(page, newText('Another'));
      const text = newText('Regretted');
      const comment = await postOnPage(page, text);
      const requests = [];
      page.on('request', (request) => requests.push(request.method()));
      await comment.getByRole('button', { name: 'Delete', exact: true }).click();
      await assertVisible(bar(page, 'Deleted'), 'the offer');
      await assertVisible(page.locator('h2', { hasText: '1 comment' }), 'the count follows');
      assert.equal(await page.getByText(text).isVisible(), false);
      assert.equal(await isFocused(undo(page)), true);
      assert.deepEqual(await faults(page), []);
      await undo(page).click();
      await assertVisible(page.getByText(text), 'it is back');
      await assertVisible(page.locator('h2', { hasText: '2 comments' }), 'and counted');
      await page.waitForTimeout(6_500);
      assert.equal(requests.includes('DELETE'), false);
    });
  });

  test('with answers under it, it is a tombstone; who leaves the page has deleted it', async () => {
    await withPage(newSubject(), {}, async (page) => {
      const text = newText('Root');
      const root = await postOnPage(page, text);
      const id = await root.getAttribute('data-id');
      await root.getByRole('button', { name: 'Reply' }).click();
      await sendForm(root.locator('form.composer'), newText('Answer'), 'Reply');
      await page.locator('.replies article[data-id]:not([data-id^="sending"])').waitFor();
      const shown = page.locator(`article[data-id="${id}"]`);
      await shown.getByRole('button', { name: 'Delete', exact: true }).click();
      await assertVisible(shown.getByText('This comment was deleted'), 'the tombstone');
      await page.goto('about:blank');
      await callUntil(`/v1/comments/${id}`, ({ data }) => data.state === 'deleted');
    });
  });

  test('what the server refuses to delete comes back with its reason', async () => {
    const prepare = (context) =>
      context.route('**/v1/comments/*', (route) =>
        route.request().method() === 'DELETE'
          ? route.fulfill({
              status: 403,
              contentType: 'application/problem+json',
              body: JSON.stringify({ code: 'forbidden' }),
            })
          : route.fallback(),
      );
    await withPage(newSubject(), { prepare }, async (page) => {
      const text = newText('Kept');
      const comment = await postOnPage(page, text);
      await comment.getByRole('button', { name: 'Delete', exact: true }).click();
      await assertVisible(page.getByText('You are not allowed to do this.'), 'the reason');
      await assertVisible(page.getByText(text), 'it is back');
    });
  });
});

describe('reactions', needed, () => {
  test('like needs no name, and a comment does', async () => {
    const { subject, text } = await threadOf('Ann');
    const guests = [];
    const prepare = (context) =>
      context.route('**/v1/guests', (route) => {
        guests.push(route.request().postDataJSON());
        return route.fallback();
      });
    await withPage(subject, { prepare }, async (page) => {
      const like = commentWith(page, text).locator('.act.like');
      await like.click();
      await assertAttribute(like, 'aria-pressed', 'true');
      await assertVisible(like.getByText('1', { exact: true }), 'counted');
      assert.deepEqual(guests, [{}]);
      const answer = newText('Named now');
      const form = mainForm(page);
      await openForm(form);
      await form.locator('textarea').fill(answer);
      await form.getByRole('button', { name: 'Post', exact: true }).click();
      await assertVisible(form.getByText('Please enter a name first.'), 'the name is missing');
      await sendForm(form, answer, 'Post');
      const posted = comments(page)
        .filter({ hasText: answer })
        .and(page.locator('[data-id]:not([data-id^="sending"])'));
      await assertVisible(posted.locator('.author').getByText('Test guest'), 'with the name');
      await assertAttribute(like, 'aria-pressed', 'true');
      assert.deepEqual(guests, [{}], 'the guest stays the same');
    });
  });
});

describe('card of an author', needed, () => {
  test('shows who it is and what they wrote, and Esc gives the focus back', async () => {
    const { subject, member, text, id } = await threadOf('Ann', 'The newer one');
    const elsewhere = newText('Elsewhere');
    await postComment(newSubject(), elsewhere, memberToken(member.id, member.name));
    for (const options of [{}, { colorScheme: 'dark', viewport: NARROW }]) {
      await withPage(subject, options, async (page) => {
        const author = commentWith(page, text).locator('.author');
        await author.click();
        await assertVisible(card(page).getByRole('heading', { name: member.name }), 'the name');
        const links = card(page).getByRole('link');
        await assertVisible(links.filter({ hasText: elsewhere }), 'a comment elsewhere');
        assert.deepEqual(await faults(page), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= (options.viewport?.width ?? 1_280), `${wide}`);
        await page.keyboard.press('Escape');
        assert.equal(await card(page).count(), 0);
        assert.equal(await isFocused(author), true);
        await author.click();
        await card(page).getByRole('link').filter({ hasText: text }).click();
        assert.equal(new URL(page.url()).hash, `#comment-${id}`);
        assert.equal(await card(page).count(), 0);
        // The focus goes to the comment that the link leads to, and a focus that leaves a card closes it.
        await until(() => isFocused(commentWith(page, text)), Boolean);
        await author.click();
        await card(page)
          .getByRole('button', { name: `Mute ${member.name} for me` })
          .click();
        await assertVisible(page.getByText(`You have muted ${member.name}`), 'the line');
      });
    }
  });
});
