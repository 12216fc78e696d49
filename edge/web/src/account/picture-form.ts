/** The picture of an account of this installation, as readers see it, and the address that it is taken from. */

import { changeMe } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import type { Me } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import { uniqueId } from '../dom/template.ts';
import { memberOf } from '../model/member.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { accountText } from '../text/account.ts';
import type { AccountSession } from './session.ts';

/** The longest address that the server takes, in bytes. */
const MAX_ADDRESS_LENGTH = 512;

interface PictureHost extends Pick<ThreadContext, 'api' | 'identity' | 'locale' | 'text'> {
  readonly reader: { onIdentityChange(): void };
}

export class PictureForm {
  readonly node: HTMLFormElement;
  readonly #host: PictureHost;
  readonly #session: Pick<AccountSession, 'renew'>;
  readonly #own: ReturnType<typeof accountText>;
  readonly #picture = h('div', { class: 'avatar', 'aria-hidden': 'true' });
  readonly #input: HTMLInputElement;
  readonly #error = h('p', { class: 'error', id: uniqueId('picture'), role: 'alert' });
  readonly #remove: HTMLButtonElement;

  /** `attempt` runs a change, which answers whether it is saved, and shows what else goes wrong. */
  constructor(
    host: PictureHost,
    session: Pick<AccountSession, 'renew'>,
    { avatar }: Me,
    attempt: (change: () => Promise<boolean>) => void,
  ) {
    this.#host = host;
    this.#session = session;
    this.#own = accountText(host.locale);
    this.#input = h('input', {
      id: uniqueId('picture'),
      type: 'url',
      dir: 'ltr',
      placeholder: 'https://',
      autocomplete: 'photo',
      maxlength: MAX_ADDRESS_LENGTH,
      'aria-describedby': this.#error.id,
    });
    this.#remove = h(
      'button',
      {
        type: 'button',
        class: 'button',
        on: { click: () => attempt(() => this.#change(null)) },
      },
      this.#own.removePicture,
    );
    const submit = (event: Event) => {
      event.preventDefault();
      attempt(() => this.#change(this.#input.value.trim() || null));
    };
    this.node = h(
      'form',
      { class: 'fields', novalidate: true, on: { submit } },
      h('label', { for: this.#input.id }, this.#own.pictureAddress),
      h('div', { class: 'picture' }, this.#picture, this.#input),
      this.#error,
      h(
        'div',
        { class: 'dialog-foot' },
        h('button', { type: 'submit', class: 'button' }, host.text.save),
        this.#remove,
      ),
    );
    this.#show(avatar);
  }

  /** Rejects with an `ApiProblem` that is not about the address. */
  async #change(address: string | null): Promise<boolean> {
    this.#fail('');
    try {
      const { data } = await changeMe(this.#host.api, { avatar: address });
      // What comments show is in the token.
      await this.#session.renew();
      this.#host.reader.onIdentityChange();
      this.#show(data.avatar);
      return true;
    } catch (problem) {
      if (!(problem instanceof ApiProblem && fieldDetail(problem, 'avatar'))) throw problem;
      this.#fail(this.#own.pictureRefused);
      this.#input.focus();
      return false;
    }
  }

  #fail(sentence: string): void {
    this.#error.textContent = sentence;
    this.#input.ariaInvalid = String(sentence !== '');
  }

  /** The first letter of the name, and the picture over it as soon as it is loaded. */
  #show(address: string | null): void {
    this.#input.value = address ?? '';
    this.#remove.hidden = !address;
    const { avatar, name = '' } = memberOf(this.#host.identity) ?? {};
    this.#picture.replaceChildren([...name][0]?.toUpperCase() ?? '·');
    // The server hands out its own copy, so that the picture's host learns of no reader.
    const copy = avatar ? safeUrl(avatar) : null;
    if (!copy) return;
    const image = h('img', { alt: '', referrerpolicy: 'no-referrer' });
    image.addEventListener('load', () => this.#picture.replaceChildren(image));
    image.src = copy;
  }
}
