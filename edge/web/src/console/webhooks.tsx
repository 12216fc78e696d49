/** Webhooks: addresses to which events are sent. A secret is shown once, when its webhook is made. */

import { useCallback, useEffect, useId, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { Problem, problemText, useConsole } from './parts.tsx';
import { webhookHref } from './route.ts';
import { timeFormat } from './text.ts';
import {
  NO_WEBHOOK,
  shownAddress,
  type TypedWebhook,
  WEBHOOK_EVENTS,
  WEBHOOK_TEMPLATES,
  webhookRequest,
} from './webhook-form.ts';
import type { Webhook } from './wire.ts';

const MAX_URL_CHARS = 2_000;

export function Webhooks() {
  const { client, session, text, say } = useConsole();
  const [webhooks, setWebhooks] = useState<Webhook[] | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [made, setMade] = useState<Webhook | null>(null);
  const [removing, setRemoving] = useState<Webhook | null>(null);
  const isAdmin = session.role === 'admin';
  const load = useCallback(async () => {
    if (!isAdmin) return;
    setProblem(null);
    await client.webhooks().then(setWebhooks, setProblem);
  }, [client, isAdmin]);
  useEffect(() => void load(), [load]);
  const remove = async ({ id }: Webhook) => {
    try {
      await client.removeWebhook(id);
      say(text.webhookRemoved);
    } catch (error) {
      say(`${text.failed} ${problemText(error)}`);
    }
    if (made?.id === id) setMade(null);
    await load();
  };
  if (!isAdmin) return <p class="page quiet">{text.adminsWebhooks}</p>;
  return (
    <section class="page">
      <h2>{text.webhooks}</h2>
      <p class="quiet">{text.webhooksText}</p>
      {made && <Secret webhook={made} />}
      {problem !== null && <Problem problem={problem} onRetry={() => void load()} />}
      {webhooks === null && problem === null && <p class="quiet">{text.loading}</p>}
      {webhooks?.length === 0 && <p class="quiet">{text.noWebhooks}</p>}
      <ol class="comments">
        {webhooks?.map((webhook) => (
          <Card key={webhook.id} webhook={webhook} onRemove={() => setRemoving(webhook)} />
        ))}
      </ol>
      <AddForm
        onMade={(webhook) => {
          setMade(webhook);
          say(text.webhookAdded);
          void load();
        }}
      />
      {removing && (
        <Dialog title={text.removeWebhook} onClose={() => setRemoving(null)}>
          {(close) => (
            <>
              <p dir="auto">{shownAddress(removing.url)}</p>
              <p>{text.removeWebhookText}</p>
              <p class="buttons">
                <button
                  type="button"
                  class="bad"
                  onClick={() => {
                    void remove(removing);
                    close();
                  }}
                >
                  {text.remove}
                </button>
                <button type="button" onClick={close}>
                  {text.cancel}
                </button>
              </p>
            </>
          )}
        </Dialog>
      )}
    </section>
  );
}

function Secret({ webhook: { secret } }: { webhook: Webhook }) {
  const { text } = useConsole();
  const id = useId();
  return (
    <div class="card stack">
      <label class="field">
        {text.webhookSecret}
        <input
          class="secret"
          readOnly
          value={secret}
          aria-describedby={id}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <p id={id} class="quiet">
        {text.webhookSecretText}
      </p>
    </div>
  );
}

function Card({ webhook, onRemove }: { webhook: Webhook; onRemove: () => void }) {
  const { text, language } = useConsole();
  const { id, url, events, template, failing_since: failingSince, dropped } = webhook;
  return (
    <li class="card" data-id={id}>
      <p class="line">
        <b dir="auto">{shownAddress(url)}</b>
        <span class="tag">{text.webhookTemplates[template ?? 'json']}</span>
        {events.map((event) => (
          <span key={event} class="tag">
            {text.webhookEvent[event]}
          </span>
        ))}
      </p>
      <p class={failingSince === null ? 'quiet' : 'bad-text'}>
        {failingSince === null
          ? text.works
          : text.failingSince(timeFormat(language).format(failingSince))}
      </p>
      {dropped > 0 && <p class="bad-text dropped">{text.droppedEvents(dropped)}</p>}
      <div class="buttons">
        <a href={webhookHref(id)}>{text.deliveries}</a>
        <button type="button" class="bad" onClick={onRemove}>
          {text.remove}
        </button>
      </div>
    </li>
  );
}

function AddForm({ onMade }: { onMade: (webhook: Webhook) => void }) {
  const { client, text } = useConsole();
  const [typed, setTyped] = useState<TypedWebhook>(NO_WEBHOOK);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const hint = useId();
  const request = webhookRequest(typed);
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!request) return;
    setBusy(true);
    setProblem(null);
    try {
      onMade(await client.addWebhook(request));
      setTyped(NO_WEBHOOK);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="card stack" onSubmit={(event) => void add(event)}>
      <h3>{text.addWebhook}</h3>
      <label class="field">
        {text.webhookUrl}
        <input
          type="url"
          required
          maxLength={MAX_URL_CHARS}
          placeholder="https://"
          value={typed.url}
          aria-describedby={hint}
          onInput={(event) => {
            const url = event.currentTarget.value;
            setTyped((before) => ({ ...before, url }));
          }}
        />
        <small id={hint} class="quiet">
          {text.webhookUrlText}
        </small>
      </label>
      <fieldset>
        <legend>{text.webhookEvents}</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <label key={event} class="check has-text">
            <input
              type="checkbox"
              checked={typed.events[event]}
              onChange={({ currentTarget: { checked } }) =>
                setTyped((before) => ({
                  ...before,
                  events: { ...before.events, [event]: checked },
                }))
              }
            />{' '}
            {text.webhookEvent[event]}
          </label>
        ))}
      </fieldset>
      <label class="field">
        {text.webhookTemplate}
        <select
          value={typed.template}
          onChange={(event) => {
            const template = event.currentTarget.value as TypedWebhook['template'];
            setTyped((before) => ({ ...before, template }));
          }}
        >
          {WEBHOOK_TEMPLATES.map((template) => (
            <option key={template} value={template}>
              {text.webhookTemplates[template]}
            </option>
          ))}
        </select>
      </label>
      {problem !== null && <Problem problem={problem} />}
      <p class="buttons">
        <button type="submit" class="good" disabled={!request || isBusy}>
          {text.addTerm}
        </button>
      </p>
    </form>
  );
}
