/** The moderators' calls, one method each. */

import { type ApiRequest, sendRequest } from '../api/transport.ts';
import type { Comment } from '../api/wire.ts';
import type {
  AdminSettings,
  AuditRecord,
  Decision,
  DecisionOutcome,
  DictionaryPage,
  DictionaryVersion,
  FormerText,
  ListPage,
  QueuePage,
  QueuePart,
  Report,
  SettingSection,
  Term,
  TermMatches,
} from './wire.ts';

/** Most comments of one call. */
export const MAX_DECISIONS = 100;

export class ConsoleClient {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  queue(kind: QueuePart, cursor: string | null): Promise<QueuePage> {
    return this.#send('GET', `/v1/admin/queue?${query({ kind, cursor })}`);
  }

  /** How many wait in a part of the queue. */
  async countQueue(kind: QueuePart): Promise<number> {
    const page: QueuePage = await this.#send(
      'GET',
      `/v1/admin/queue?${query({ kind, limit: '1' })}`,
    );
    return page.count;
  }

  lease(ids: string[]): Promise<{ leased: string[] }> {
    return this.#send('POST', '/v1/admin/queue/lease', { body: { ids } });
  }

  /** At most `MAX_DECISIONS`. */
  async decide(ids: string[], action: Decision): Promise<DecisionOutcome[]> {
    const body = { ids, action };
    const outcomes: { data: DecisionOutcome[] } = await this.#send('POST', '/v1/admin/decisions', {
      body,
    });
    return outcomes.data;
  }

  undo(auditId: string): Promise<Comment> {
    return this.#send('POST', `/v1/admin/audit/${auditId}/undo`);
  }

  reports(id: string): Promise<ListPage<Report>> {
    return this.#send('GET', `/v1/admin/comments/${id}/reports`);
  }

  history(id: string): Promise<ListPage<FormerText>> {
    return this.#send('GET', `/v1/admin/comments/${id}/history`);
  }

  audit(filter: { action: string | null; cursor: string | null }): Promise<ListPage<AuditRecord>> {
    return this.#send('GET', `/v1/admin/audit?${query(filter)}`);
  }

  words(cursor: string | null): Promise<DictionaryPage> {
    return this.#send('GET', `/v1/admin/words?${query({ cursor })}`);
  }

  changeWords(
    change: { add?: Term[]; remove?: string[] },
    version: number,
  ): Promise<DictionaryVersion> {
    return this.#send('PATCH', '/v1/admin/words', { body: change, ifMatch: String(version) });
  }

  testWord(term: string): Promise<TermMatches> {
    return this.#send('POST', '/v1/admin/words/test', { body: { term } });
  }

  settings(): Promise<AdminSettings> {
    return this.#send('GET', '/v1/admin/settings');
  }

  changeSettings(patch: SettingSection, version: number): Promise<AdminSettings> {
    return this.#send('PATCH', '/v1/admin/settings', { body: patch, ifMatch: String(version) });
  }

  async #send<Data>(
    method: ApiRequest['method'],
    url: string,
    options: Pick<ApiRequest, 'body' | 'ifMatch'> = {},
  ): Promise<Data> {
    return (await sendRequest<Data>({ method, url, token: this.#token, ...options })).data;
  }
}

function query(parts: Record<string, string | null>): string {
  const given = Object.entries(parts).filter((part): part is [string, string] => part[1] !== null);
  return new URLSearchParams(given).toString();
}
