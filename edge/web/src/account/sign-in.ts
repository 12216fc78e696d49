/** The choice of how to sign in: a button for each provider, and a field for an address. */

import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import type { SignInProvider } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import { accountText } from '../text/account.ts';
import { describeProblem } from '../text/describe-problem.ts';
import type { Locale } from '../text/locale.ts';
import { AccountDialog } from './dialog.ts';
import type { AccountSession } from './session.ts';

export interface SignInHost {
  readonly locale: Locale;
  readonly session: AccountSession;
}

/** Shows the choice; `place` is in the shadow tree. */
export function openSignIn(
  { locale, session }: SignInHost,
  providers: readonly SignInProvider[],
  place: HTMLElement,
): void {
  const { text } = locale;
  const own = accountText(locale);
  const closed = new AbortController();
  const dialog = new AccountDialog(text.signIn, own.close, () => closed.abort());
  const buttons = providers
    .filter(({ kind }) => kind !== 'email')
    .map((provider) =>
      h(
        'button',
        {
          type: 'button',
          class: 'button',
          on: {
            click: () => {
              const isOpen = session.openWindow(provider, () => dialog.close());
              dialog.error.textContent = isOpen ? '' : own.windowBlocked;
            },
          },
        },
        own.signInWith(provider.name),
      ),
    );
  dialog.body.append(...buttons);
  if (providers.some(({ kind }) => kind === 'email')) dialog.body.append(mailForm());
  dialog.open(place);

  function mailForm(): HTMLFormElement {
    const input = h('input', {
      id: uniqueId('email'),
      type: 'email',
      autocomplete: 'email',
      required: true,
    });
    const note = h('p', { role: 'status' });
    const form = h(
      'form',
      {
        class: 'fields',
        novalidate: true,
        on: {
          submit: async (event) => {
            event.preventDefault();
            dialog.error.textContent = '';
            try {
              await session.mailLink(input.value.trim());
              note.textContent = own.linkSent;
              window.addEventListener('focus', lookAgain, { signal: closed.signal });
            } catch (problem) {
              if (!(problem instanceof ApiProblem)) throw problem;
              dialog.error.textContent =
                fieldDetail(problem, 'email') || describeProblem(locale, problem);
            }
          },
        },
      },
      h('label', { for: input.id }, own.yourEmail),
      input,
      h('button', { type: 'submit', class: 'button primary' }, own.mailLink),
      note,
    );
    return form;
  }

  /** The link is opened in another tab. */
  async function lookAgain(): Promise<void> {
    if (await session.check()) dialog.close();
  }
}
