/** The deliveries of a webhook, the newest first: what was sent, what waits, what failed. */

import { useCallback } from 'preact/hooks';
import { Moment, MoreButton, problemText, useConsole, usePages } from './parts.tsx';
import { listHref } from './route.ts';
import type { WebhookDelivery } from './wire.ts';

export function Deliveries({ id }: { id: string }) {
  const { client, session, text, say } = useConsole();
  const load = useCallback((cursor: string | null) => client.deliveries(id, cursor), [client, id]);
  const list = usePages<WebhookDelivery>(load);
  if (session.role !== 'admin') return <p class="page quiet">{text.adminsWebhooks}</p>;
  const retry = async (delivery: string) => {
    try {
      const due = await client.retryDelivery(id, delivery);
      list.change((items) => items.map((item) => (item.id === due.id ? due : item)));
      say(text.deliveryIsDue);
    } catch (error) {
      say(`${text.failed} ${problemText(error)}`);
    }
  };
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem;
  return (
    <section class="page">
      <p>
        <a href={listHref('webhooks')}>{text.allWebhooks}</a>
      </p>
      <div class="bar">
        <h2>{text.deliveries}</h2>
        <button type="button" onClick={list.reload}>
          {text.refresh}
        </button>
      </div>
      {isEmpty ? <p class="quiet">{text.noDeliveries}</p> : null}
      {list.items.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th scope="col">{text.when}</th>
                <th scope="col">{text.what}</th>
                <th scope="col">{text.state}</th>
                <th scope="col">{text.attempts}</th>
                <th scope="col">{text.lastAnswer}</th>
                <th scope="col">{text.nextTry}</th>
                <th scope="col">{text.action}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map((delivery) => (
                <Row
                  key={delivery.id}
                  delivery={delivery}
                  onRetry={() => void retry(delivery.id)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreButton list={list} />
    </section>
  );
}

function Row({ delivery, onRetry }: { delivery: WebhookDelivery; onRetry: () => void }) {
  const { text } = useConsole();
  const { id, event, status, attempts, last_status: lastStatus, next_at: nextAt } = delivery;
  const { created_at: createdAt } = delivery;
  return (
    <tr data-id={id} title={id}>
      <td>
        <Moment at={createdAt} />
      </td>
      <td>{text.webhookEvent[event]}</td>
      <td class={status === 'failed' ? 'bad-text' : undefined}>{text.deliveryStatus[status]}</td>
      <td>{attempts}</td>
      <td>{lastStatus ?? text.noAnswer}</td>
      <td>{nextAt !== null && <Moment at={nextAt} />}</td>
      <td>
        <button type="button" onClick={onRetry}>
          {text.deliverAgain}
        </button>
      </td>
    </tr>
  );
}
