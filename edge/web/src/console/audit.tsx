/** The audit log, newest first. */

import { useCallback, useState } from 'preact/hooks';
import { MoreButton, useConsole, usePages } from './parts.tsx';
import type { AuditRecord } from './wire.ts';

const AUDITED_ACTIONS = [
  'approve',
  'reject',
  'hide',
  'restore',
  'delete',
  'feature',
  'unfeature',
  'pin',
  'unpin',
  'undo',
  'words',
  'settings',
  'subject',
];

export function Audit() {
  const { client, text, language } = useConsole();
  const [action, setAction] = useState<string | null>(null);
  const load = useCallback(
    (cursor: string | null) => client.audit({ action, cursor }),
    [client, action],
  );
  const list = usePages<AuditRecord>(load);
  const time = new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en', {
    dateStyle: 'medium',
    timeStyle: 'medium',
  });
  return (
    <section class="page">
      <h2>{text.audit}</h2>
      <label class="field">
        {text.action}
        <select
          value={action ?? ''}
          onChange={(event) => setAction(event.currentTarget.value || null)}
        >
          <option value="">{text.allActions}</option>
          {AUDITED_ACTIONS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th scope="col">{text.when}</th>
              <th scope="col">{text.who}</th>
              <th scope="col">{text.what}</th>
              <th scope="col">{text.why}</th>
            </tr>
          </thead>
          <tbody>
            {list.items.map((record) => (
              <tr key={record.id}>
                <td>
                  <time dateTime={new Date(record.at).toISOString()}>{time.format(record.at)}</time>
                </td>
                <td dir="auto">{record.actor.name || record.actor.id}</td>
                <td>
                  {record.action} <Target record={record} />
                  {(record.before !== null || record.after !== null) && (
                    <details>
                      <summary>
                        {text.before} → {text.after}
                      </summary>
                      <pre>{JSON.stringify(record.before, null, 1)}</pre>
                      <pre>{JSON.stringify(record.after, null, 1)}</pre>
                    </details>
                  )}
                </td>
                <td dir="auto">{record.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MoreButton list={list} />
    </section>
  );
}

function Target({ record: { target } }: { record: AuditRecord }) {
  if (target.kind !== 'subject') return <code>{`${target.kind} ${target.id}`}</code>;
  const [type = '', ...key] = target.id.split('/');
  return <a href={`/t/${type}/${encodeURIComponent(key.join('/'))}`}>{target.id}</a>;
}
