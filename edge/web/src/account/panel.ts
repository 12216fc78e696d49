/** What is the reader's own: the name, the picture, what is mailed, the own comments, all data, and its end. */

import { changeMe, eraseMe, exportMe, getMe } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import type { MailFrequency, Me } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import { dropGuest, dropSession, kindOf } from '../model/member.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { type LanguageTag, matchLanguage } from '../text/match-language.ts';
import { AccountDialog } from './dialog.ts';
import { openOwnComments } from './own-comments.ts';
import { PictureForm } from './picture-form.ts';
import type { AccountSession } from './session.ts';
import { openWatches } from './watches.ts';

const FREQUENCIES: readonly MailFrequency[] = ['each', 'daily', 'never'];
/** The languages of mails, by their own names. */
const LANGUAGES: readonly [LanguageTag, string][] = [
  ['en', 'English'],
  ['zh-CN', '中文（简体）'],
  ['zh-TW', '中文（繁體）'],
  ['ja', '日本語'],
  ['ko', '한국어'],
  ['de', 'Deutsch'],
  ['fr', 'Français'],
  ['es', 'Español'],
  ['pt-BR', 'Português (Brasil)'],
  ['ru', 'Русский'],
  ['ar', 'العربية'],
  ['he', 'עברית'],
];
/** The longest name that the server takes, in UTF-16 units. */
const MAX_NAME_LENGTH = 40;

export interface PanelHost extends ThreadContext {
  readonly reader: { onIdentityChange(): void };
  /** Rejects with an `ApiProblem` when the server refuses the name. */
  rename(name: string): Promise<void>;
}

/** Shows it; `place` is in the shadow tree. */
export async function openPanel(
  host: PanelHost,
  session: AccountSession,
  place: HTMLElement,
): Promise<void> {
  const { api, locale, text } = host;
  const dialog = new AccountDialog(text.yourAccount, accountText(locale).close);
  dialog.open(place);
  try {
    const { data } = await getMe(api);
    new AccountPanel(host, session, dialog, place).show(data);
  } catch (problem) {
    if (!(problem instanceof ApiProblem)) throw problem;
    dialog.error.textContent = describeProblem(locale, problem);
  }
}

class AccountPanel {
  readonly #host: PanelHost;
  readonly #session: AccountSession;
  readonly #dialog: AccountDialog;
  readonly #place: HTMLElement;
  readonly #own: ReturnType<typeof accountText>;
  readonly #note = h('p', { role: 'status' });

  constructor(host: PanelHost, session: AccountSession, dialog: AccountDialog, place: HTMLElement) {
    this.#host = host;
    this.#session = session;
    this.#dialog = dialog;
    this.#place = place;
    this.#own = accountText(host.locale);
  }

  show(me: Me): void {
    const isOfHost = kindOf(this.#host.identity) === 'host';
    this.#dialog.body.replaceChildren(
      ...(isOfHost ? [] : [this.#nameForm(me)]),
      ...(kindOf(this.#host.identity) === 'account' ? [this.#pictureForm(me)] : []),
      ...(me.email ? [this.#mailFields(me, me.email)] : []),
      this.#note,
      this.#buttons(me),
    );
  }

  #nameForm({ name }: Me): HTMLFormElement {
    const { text } = this.#host;
    const input = h('input', {
      id: uniqueId('name'),
      value: name,
      maxlength: MAX_NAME_LENGTH,
      autocomplete: 'nickname',
    });
    const save = async () => {
      const changed = input.value.trim();
      if (!changed) this.#dialog.error.textContent = text.needName;
      else await this.#host.rename(changed);
    };
    return h(
      'form',
      {
        class: 'fields',
        novalidate: true,
        on: {
          submit: (event) => {
            event.preventDefault();
            this.#try(save, text.saved);
          },
        },
      },
      h('label', { for: input.id }, text.yourName),
      input,
      h('button', { type: 'submit', class: 'button' }, text.save),
    );
  }

  #pictureForm(me: Me): HTMLFormElement {
    const attempt = (change: () => Promise<boolean>) => this.#try(change, this.#host.text.saved);
    return new PictureForm(this.#host, this.#session, me, attempt).node;
  }

  #mailFields({ notify, language }: Me, email: string): HTMLElement {
    const { api, text } = this.#host;
    const change = (changes: Partial<Pick<Me, 'notify' | 'language'>>) =>
      this.#try(async () => void (await changeMe(api, changes)), text.saved);
    const frequency = select(
      this.#own.mailMe(email),
      FREQUENCIES.map((each) => [each, this.#own.frequencies[each]]),
      notify,
      (value) => change({ notify: value as MailFrequency }),
    );
    const chosen = matchLanguage([language]);
    const languages = select(this.#own.mailLanguage, LANGUAGES, chosen, (value) =>
      change({ language: value }),
    );
    return h('div', { class: 'fields' }, ...frequency, ...languages);
  }

  #buttons({ id }: Me): HTMLElement {
    const { identity } = this.#host;
    const openComments = () => {
      this.#dialog.close();
      openOwnComments(this.#host, id, this.#place);
    };
    const openWatched = () => {
      this.#dialog.close();
      openWatches(this.#host, this.#place);
    };
    const signOut = h(
      'button',
      {
        type: 'button',
        class: 'button',
        on: {
          click: () => {
            this.#dialog.close();
            if (kindOf(identity) === 'account') this.#session.signOut();
            else this.#forgetReader();
          },
        },
      },
      kindOf(identity) === 'guest' ? this.#own.forgetGuest : this.#own.signOut,
    );
    return h(
      'div',
      { class: 'dialog-foot' },
      h(
        'button',
        { type: 'button', class: 'button', on: { click: openComments } },
        this.#own.myComments,
      ),
      h(
        'button',
        { type: 'button', class: 'button', on: { click: openWatched } },
        this.#own.watches,
      ),
      h(
        'button',
        { type: 'button', class: 'button', on: { click: () => this.#download() } },
        this.#own.downloadData,
      ),
      kindOf(identity) === 'host' ? null : signOut,
      h(
        'button',
        { type: 'button', class: 'button danger', on: { click: () => this.#askToErase() } },
        this.#own.eraseAll,
      ),
    );
  }

  #download(): Promise<void> {
    return this.#try(async () => {
      const { data } = await exportMe(this.#host.api);
      const file = new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' });
      const href = URL.createObjectURL(file);
      h('a', { href, download: 'comments.json' }).click();
      URL.revokeObjectURL(href);
    });
  }

  #askToErase(): void {
    const { text } = this.#host;
    const confirm = h(
      'button',
      { type: 'button', class: 'button danger', on: { click: () => this.#erase() } },
      this.#own.eraseForGood,
    );
    this.#dialog.body.replaceChildren(
      h('p', {}, this.#own.confirmErase),
      h(
        'div',
        { class: 'dialog-foot' },
        h(
          'button',
          { type: 'button', class: 'button', on: { click: () => this.#dialog.close() } },
          text.cancel,
        ),
        confirm,
      ),
    );
    confirm.focus();
  }

  #erase(): Promise<void> {
    return this.#try(async () => {
      await eraseMe(this.#host.api);
      this.#forgetReader();
      this.#dialog.body.replaceChildren(h('p', { role: 'status' }, this.#own.erased));
    });
  }

  #forgetReader(): void {
    const { identity, reader } = this.#host;
    if (kindOf(identity) === 'guest') dropGuest(identity);
    else dropSession(identity);
    reader.onIdentityChange();
  }

  /** Shows what went wrong, or the sentence that all went well, unless `work` answers that it did not. */
  async #try(work: () => Promise<unknown>, done = ''): Promise<void> {
    const { error } = this.#dialog;
    error.textContent = '';
    this.#note.textContent = '';
    try {
      const isDone = await work();
      if (isDone !== false && !error.textContent) this.#note.textContent = done;
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem;
      error.textContent =
        fieldDetail(problem, 'name') || describeProblem(this.#host.locale, problem);
    }
  }
}

/** A label and a menu. */
function select(
  label: string,
  options: readonly (readonly [string, string])[],
  value: string,
  choose: (value: string) => void,
): [HTMLLabelElement, HTMLSelectElement] {
  const menu: HTMLSelectElement = h(
    'select',
    { id: uniqueId('choice'), on: { change: () => choose(menu.value) } },
    ...options.map(([each, name]) => h('option', { value: each, selected: each === value }, name)),
  );
  return [h('label', { for: menu.id }, label), menu];
}
