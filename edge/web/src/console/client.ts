/** The moderators' calls, one method each. */

import { ApiProblem } from '../api/problem.ts';
import { problemFrom } from '../api/problem-from.ts';
import { type ApiRequest, sendRequest } from '../api/request.ts';
import { parseJson } from '../api/transport.ts';
import type { Comment } from '../api/wire.ts';
import { readJsonLines } from './json-lines.ts';
import type {
  ActivitySeries,
  ActivityStep,
  AdminSettings,
  AuditRecord,
  DecidedComment,
  Decision,
  DecisionOutcome,
  DictionaryPage,
  DictionaryVersion,
  FormerText,
  FoundComment,
  ImportLine,
  ImportOptions,
  ListPage,
  ModeratedMember,
  ModeratedSubject,
  Passkey,
  PasskeyChallenge,
  QueuePage,
  QueuePart,
  RefusedText,
  Report,
  Role,
  SettingSection,
  StandingPatch,
  SubjectPatch,
  Term,
  TermMatches,
  Webhook,
  WebhookDelivery,
  WebhookRequest,
} from './wire.ts';

/** Most comments of one call. */
export const MAX_DECISIONS = 100;
/** Most entries of a page. */
const MAX_PAGE = 100;
/** So many pages without an entry are read before a page is shown. */
const MAX_EMPTY_PAGES = 5;

const REFUSED = [401, 403];
const JSON_LINES_TYPE = 'application/x-ndjson';
/** The server does not know the call. */
const NO_SUCH_CALL = [404, 405, 501];

export class ConsoleClient {
  #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** Goes on with another token of the same member. */
  renew(token: string): void {
    this.#token = token;
  }

  /** What the server lets this token do; null for one that moderates nothing. */
  async findRole(): Promise<Role | null> {
    if (await this.#isAnswered('/v1/admin/settings', REFUSED)) return 'admin';
    return (await this.#isAnswered('/v1/admin/queue?limit=1', REFUSED)) ? 'moderator' : null;
  }

  /** Whether the server finds comments. Rejects while it cannot say. */
  hasSearch(): Promise<boolean> {
    return this.#isAnswered('/v1/admin/comments?limit=1', NO_SUCH_CALL);
  }

  queue(kind: QueuePart, cursor: string | null): Promise<QueuePage> {
    return this.#send('GET', `/v1/admin/queue?${query({ kind, cursor })}`);
  }

  /** The head of the queue, as much of it as the server gives at once. */
  queueHead(kind: QueuePart): Promise<QueuePage> {
    return this.#send('GET', `/v1/admin/queue?${query({ kind, limit: String(MAX_PAGE) })}`);
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

  /**
   * At most `MAX_DECISIONS`. `seen` has the versions of entries, by the ids of their comments: what is another by then is
   * not decided.
   */
  async decide(
    ids: string[],
    action: Decision,
    seen: Record<string, string>,
  ): Promise<DecisionOutcome[]> {
    const body = { ids, action, seen };
    const outcomes: { data: DecisionOutcome[] } = await this.#send('POST', '/v1/admin/decisions', {
      body,
    });
    return outcomes.data;
  }

  decideOne(id: string, action: Decision): Promise<DecidedComment> {
    return this.#send('POST', `/v1/admin/comments/${id}/decision`, { body: { action } });
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

  audit(filter: {
    actor: string | null;
    action: string | null;
    cursor: string | null;
  }): Promise<ListPage<AuditRecord>> {
    return this.#send('GET', `/v1/admin/audit?${query(filter)}`);
  }

  /** Comments of any state. */
  comments(
    filter: Record<string, string | null>,
    cursor: string | null,
  ): Promise<ListPage<FoundComment>> {
    return this.#readOn('/v1/admin/comments', { ...filter, cursor });
  }

  /** One comment, in any state. */
  comment(id: string): Promise<FoundComment> {
    return this.#send('GET', `/v1/admin/comments/${encodeURIComponent(id)}`);
  }

  /** Blocks where a comment was posted from; when that ends, in Unix milliseconds. */
  async blockNetwork(id: string): Promise<number> {
    const path = `/v1/admin/comments/${encodeURIComponent(id)}/block-network`;
    const { until }: { until: number } = await this.#send('POST', path);
    return until;
  }

  /** Pins a comment to its subject, or removes the pin. */
  pin(id: string, isPinned: boolean): Promise<Comment> {
    return this.#send(isPinned ? 'PUT' : 'DELETE', `/v1/comments/${id}/pin`);
  }

  subjects(filter: {
    q: string | null;
    state: string | null;
    cursor: string | null;
  }): Promise<ListPage<ModeratedSubject>> {
    return this.#readOn('/v1/admin/subjects', filter);
  }

  /** The title of the page that a thread is about; null where none is known. */
  async titleOf({ type, key }: Comment['subject']): Promise<string | null> {
    const path = `/v1/subjects/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
    const { title }: { title: string | null } = await this.#send('GET', path);
    return title;
  }

  changeSubject(
    { type, key }: Pick<ModeratedSubject, 'type' | 'key'>,
    patch: SubjectPatch,
  ): Promise<ModeratedSubject> {
    const path = `/v1/admin/subjects/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
    return this.#send('PUT', path, { body: patch });
  }

  members(q: string | null, cursor: string | null): Promise<ListPage<ModeratedMember>> {
    return this.#send('GET', `/v1/admin/members?${query({ q, cursor })}`);
  }

  /** Those who are muted now. */
  mutedMembers(cursor: string | null): Promise<ListPage<ModeratedMember>> {
    return this.#send('GET', `/v1/admin/members?${query({ muted: '1', cursor })}`);
  }

  member(id: string): Promise<ModeratedMember> {
    return this.#send('GET', `/v1/admin/members/${encodeURIComponent(id)}`);
  }

  changeMember(id: string, patch: StandingPatch): Promise<ModeratedMember> {
    return this.#send('PUT', `/v1/admin/members/${encodeURIComponent(id)}`, { body: patch });
  }

  async eraseMember(id: string): Promise<void> {
    await this.#send('DELETE', `/v1/admin/members/${encodeURIComponent(id)}`);
  }

  /** Refused texts. A page may hold none while there are more, so it reads on. */
  rejected(q: string | null, cursor: string | null): Promise<ListPage<RefusedText>> {
    return this.#readOn('/v1/admin/rejected', { q, cursor });
  }

  acceptRejected(id: string): Promise<DecidedComment> {
    return this.#send('POST', `/v1/admin/rejected/${id}/accept`);
  }

  async dropRejected(id: string): Promise<void> {
    await this.#send('DELETE', `/v1/admin/rejected/${id}`);
  }

  words(cursor: string | null): Promise<DictionaryPage> {
    return this.#send('GET', `/v1/admin/words?${query({ cursor })}`);
  }

  changeWords(
    change: { add?: Term[]; remove?: string[] },
    /** The version that the change is about; any where it is left out. */
    version?: number,
  ): Promise<DictionaryVersion> {
    const ifMatch = version === undefined ? {} : { ifMatch: String(version) };
    return this.#send('PATCH', '/v1/admin/words', { body: change, ...ifMatch });
  }

  testWord(term: string): Promise<TermMatches> {
    return this.#send('POST', '/v1/admin/words/test', { body: { term } });
  }

  /** The last hour by minutes, the last day by hours, or the last 30 days. */
  stats(step: ActivityStep): Promise<ActivitySeries> {
    return this.#send('GET', `/v1/admin/stats?${query({ step })}`);
  }

  settings(): Promise<AdminSettings> {
    return this.#send('GET', '/v1/admin/settings');
  }

  changeSettings(patch: SettingSection, version: number): Promise<AdminSettings> {
    return this.#send('PATCH', '/v1/admin/settings', { body: patch, ifMatch: String(version) });
  }

  /** Without their secrets. */
  async webhooks(): Promise<Webhook[]> {
    const list: { data: Webhook[] } = await this.#send('GET', '/v1/admin/webhooks');
    return list.data;
  }

  /** The answer has the secret, for once. */
  addWebhook(webhook: WebhookRequest): Promise<Webhook> {
    return this.#send('POST', '/v1/admin/webhooks', { body: webhook });
  }

  async removeWebhook(id: string): Promise<void> {
    await this.#send('DELETE', `/v1/admin/webhooks/${encodeURIComponent(id)}`);
  }

  deliveries(id: string, cursor: string | null): Promise<ListPage<WebhookDelivery>> {
    return this.#send(
      'GET',
      `/v1/admin/webhooks/${encodeURIComponent(id)}/deliveries?${query({ cursor })}`,
    );
  }

  retryDelivery(id: string, delivery: string): Promise<WebhookDelivery> {
    const path = `/v1/admin/webhooks/${encodeURIComponent(id)}/deliveries`;
    return this.#send('POST', `${path}/${encodeURIComponent(delivery)}/retry`);
  }

  /** Those of the account that is signed in. */
  async passkeys(): Promise<Passkey[]> {
    const list: { data: Passkey[] } = await this.#send('GET', '/v1/auth/passkeys');
    return list.data;
  }

  beginPasskey(): Promise<PasskeyChallenge> {
    return this.#send('POST', '/v1/auth/passkeys/registration');
  }

  addPasskey(challenge: string, name: string, credential: unknown): Promise<Passkey> {
    return this.#send('POST', '/v1/auth/passkeys', { body: { challenge, name, credential } });
  }

  async removePasskey(id: string): Promise<void> {
    await this.#send('DELETE', `/v1/auth/passkeys/${encodeURIComponent(id)}`);
  }

  /** The published comments of a subject, or all, one a line; `onBytes` hears how many bytes have come. */
  async exportComments(subject: string | null, onBytes: (bytes: number) => void): Promise<Blob> {
    const { body } = await this.#stream('GET', `/v1/admin/export?${query({ subject })}`);
    const chunks: BlobPart[] = [];
    let bytes = 0;
    const reader = body.getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks.push(read.value as BlobPart);
      bytes += read.value.length;
      onBytes(bytes);
    }
    return new Blob(chunks, { type: JSON_LINES_TYPE });
  }

  /** Imports the comments of a file, and says how far it is. */
  async *importComments(
    file: Blob,
    { isStrict, from, type, site, takesHeld }: ImportOptions,
  ): AsyncGenerator<ImportLine> {
    const ofExport = from ? { from, type: type || null, site: site || null } : {};
    const held = from && takesHeld ? '1' : null;
    const parameters = query({ strict: isStrict ? '1' : '0', ...ofExport, held });
    const { body } = await this.#stream('POST', `/v1/admin/import?${parameters}`, file);
    yield* readJsonLines(body) as AsyncGenerator<ImportLine>;
  }

  /** A call without a time limit, whose answer is read while it comes. */
  async #stream(
    method: ApiRequest['method'],
    url: string,
    file: Blob | null = null,
  ): Promise<{ body: ReadableStream<Uint8Array> }> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` };
    if (file) headers['Content-Type'] = JSON_LINES_TYPE;
    const response = await fetch(url, { method, headers, body: file });
    if (!response.ok) throw problemFrom(response, parseJson(await response.text()));
    return { body: response.body ?? new ReadableStream({ start: (all) => all.close() }) };
  }

  /** A page of a list whose pages may hold nothing while there are more: it reads on. */
  async #readOn<Item>(
    path: string,
    { cursor, ...filter }: Record<string, string | null>,
  ): Promise<ListPage<Item>> {
    let page: ListPage<Item>;
    let pages = 0;
    let next = cursor ?? null;
    do {
      page = await this.#send('GET', `${path}?${query({ ...filter, cursor: next })}`);
      next = page.page.next;
      pages += 1;
    } while (page.data.length === 0 && next && pages < MAX_EMPTY_PAGES);
    return page;
  }

  /** Whether a call is answered, not with one of these states. Rejects for every other problem. */
  async #isAnswered(url: string, refusals: readonly number[]): Promise<boolean> {
    try {
      await this.#send('GET', url);
      return true;
    } catch (error) {
      if (error instanceof ApiProblem && refusals.includes(error.status)) return false;
      throw error;
    }
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
