/** The window in which a reader reports a comment. */

import { AccountDialog } from '../account/dialog.ts';
import { sendAnswering } from '../api/challenge.ts';
import { reportComment } from '../api/member-calls.ts';
import type { ReportReason } from '../api/wire.ts';
import { answerChallenge } from '../composer/answer.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import { menuText } from '../text/menu.ts';
import type { MenuHost } from './host.ts';

/** The server's limit, in characters. */
const MAX_NOTE_LENGTH = 1_000;

/** `onSent` is called when the server has the report; `onClose` when the window is closed. */
export function openReport(
  host: MenuHost,
  id: string,
  onSent: () => void,
  onClose: () => void,
): void {
  const { api, frame, identity, locale, text } = host;
  const own = menuText(locale);
  const dialog = new AccountDialog(own.reportTitle, text.close, onClose);
  const reasons = Object.entries(own.reasons).map(([value, label], place) => {
    const choice = h('input', { type: 'radio', name: 'reason', value, checked: place === 0 });
    return h('label', {}, choice, label);
  });
  const note = h('textarea', { id: uniqueId('note'), rows: 2, maxlength: MAX_NOTE_LENGTH });
  const progress = h('p', { class: 'progress', role: 'status' });
  const widgetSlot = h('slot', { name: uniqueId('widget') });
  const submit = h('button', { type: 'submit', class: 'button primary' }, own.sendReport);
  const form = h(
    'form',
    { class: 'report' },
    h('div', { role: 'radiogroup', 'aria-label': own.reportTitle }, ...reasons),
    h('label', { for: note.id }, own.note),
    note,
    progress,
    widgetSlot,
    h('div', { class: 'dialog-foot' }, submit),
  );
  const place = {
    showMessage: (sentence: string) => {
      dialog.error.textContent = sentence;
    },
  };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (submit.getAttribute('aria-disabled') === 'true') return;
    submit.setAttribute('aria-disabled', 'true');
    place.showMessage('');
    try {
      if (identity.token || (await host.becomeGuest(place))) await send();
    } catch (problem) {
      host.report(problem, place);
    }
    submit.removeAttribute('aria-disabled');
  });
  dialog.body.append(form);
  dialog.open(frame.section);

  async function send(): Promise<void> {
    const reason = new FormData(form).get('reason') as ReportReason;
    const body = { reason, ...(note.value.trim() && { note: note.value.trim() }) };
    const answerPlace = { node: form, progress, widgetSlot };
    await sendAnswering(
      (given) => reportComment(api, id, body, given),
      (challenge) => answerChallenge(challenge, answerPlace, locale),
    );
    onSent();
    const close = h(
      'button',
      { type: 'button', class: 'button', on: { click: () => dialog.close() } },
      text.close,
    );
    dialog.body.replaceChildren(
      h('p', { role: 'status' }, own.thanks),
      h('div', { class: 'dialog-foot' }, close),
    );
    close.focus();
  }
}
