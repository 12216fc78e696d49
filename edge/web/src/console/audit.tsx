/** The audit log, newest first. What was decided about a comment is undone here for a day. */

import { useCallback } from 'preact/hooks';
import { targetOf } from './audit-target.ts';
import { mayUndo, withNewer } from './audit-undo.ts';
import { Moment, MoreButton, useConsole, useNow, usePages } from './parts.tsx';
import { listHref, memberHref } from './route.ts';
import type { ConsoleText } from './text.ts';
import { UndoEntry } from './undo-entry.tsx';
import type { AuditRecord } from './wire.ts';

/** A verb of the log; one that is not known here as it is. */
function verb(text: ConsoleText, action: string): string {
  return (text.audited as Record<string, string>)[action] ?? action;
}

/** The entries of one member, of one action, or all. */
export function Audit({ actor, action }: { actor: string | null; action: string | null }) {
  const { client, text } = useConsole();
  const load = useCallback(
    (cursor: string | null) => client.audit({ actor, action, cursor }),
    [client, actor, action],
  );
  const list = usePages<AuditRecord>(load);
  const now = useNow();
  /** Undoing is an entry itself. */
  const loadNewer = async () => {
    const newest = await load(null).catch(() => null);
    if (newest) list.change((records) => withNewer(records, newest.data));
  };
  return (
    <section class="page">
      <h2>{text.audit}</h2>
      <label class="field">
        {text.action}
        <select
          value={action ?? ''}
          onChange={(event) => {
            location.hash = listHref('audit', { actor, action: event.currentTarget.value });
          }}
        >
          <option value="">{text.allActions}</option>
          {Object.entries(text.audited).map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {actor && (
        <p>
          {text.onlyBy(actor)} · <a href={listHref('audit', { action })}>{text.everybody}</a>
        </p>
      )}
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
                  <Moment at={record.at} />
                </td>
                <td dir="auto">
                  <a href={memberHref(record.actor.id)}>{record.actor.name || record.actor.id}</a>
                </td>
                <td>
                  {verb(text, record.action)} · <Target record={record} />
                  {(record.before !== null || record.after !== null) && (
                    <details>
                      <summary>
                        {text.before} → {text.after}
                      </summary>
                      <pre>{JSON.stringify(record.before, null, 1)}</pre>
                      <pre>{JSON.stringify(record.after, null, 1)}</pre>
                    </details>
                  )}
                  <UndoEntry
                    record={record}
                    isOffered={mayUndo(record, list.items, now)}
                    name={`${verb(text, record.action)} · ${targetName(text, record)}`}
                    onUndone={() => void loadNewer()}
                  />
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

function targetName(text: ConsoleText, record: AuditRecord): string {
  const found = targetOf(record);
  if (!found) return `${record.target.kind} ${record.target.id}`;
  return text.targets[found.kind](found.name);
}

/** What the entry is about, as a link to it. */
function Target({ record }: { record: AuditRecord }) {
  const { text } = useConsole();
  const name = targetName(text, record);
  const found = targetOf(record);
  return found ? <a href={found.href}>{name}</a> : <code>{name}</code>;
}
