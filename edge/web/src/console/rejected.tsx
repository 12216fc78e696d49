/** Texts that the word filter refused, newest first: accepted as their authors' or dropped. */

import { useCallback, useState } from 'preact/hooks';
import { MoreButton, problemText, useConsole, usePages } from './parts.tsx';
import { hindrance, isGone, MAX_QUERY_CHARS, withoutText } from './rejected-list.ts';
import { listHref, memberHref, threadHref } from './route.ts';
import { timeFormat } from './text.ts';
import type { RefusedText } from './wire.ts';

export function Rejected({ q }: { q: string }) {
  const { client, text, say } = useConsole();
  const [typed, setTyped] = useState(q);
  const load = useCallback(
    (cursor: string | null) => client.rejected(q || null, cursor),
    [client, q],
  );
  const list = usePages<RefusedText>(load);
  const decide = async ({ id }: RefusedText, action: 'accept' | 'drop') => {
    try {
      if (action === 'accept') await client.acceptRejected(id);
      else await client.dropRejected(id);
      say(action === 'accept' ? text.rejectedAccepted : text.rejectedDropped);
      list.change((items) => withoutText(items, id));
    } catch (error) {
      say(`${text.failed} ${hindrance(error, text) ?? problemText(error)}`);
      if (isGone(error)) list.change((items) => withoutText(items, id));
    }
  };
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem && !list.next;
  return (
    <section class="page">
      <h2>{text.rejected}</h2>
      <p class="quiet">{text.rejectedText}</p>
      <search>
        <form
          class="field"
          onSubmit={(event) => {
            event.preventDefault();
            location.hash = listHref('rejected', { q: typed.trim() });
          }}
        >
          <label class="field">
            {text.find}
            <input
              type="search"
              dir="auto"
              maxLength={MAX_QUERY_CHARS}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        </form>
      </search>
      {isEmpty && <p class="quiet">{text.nothingFound}</p>}
      <ol class="comments">
        {list.items.map((refused) => (
          <Card key={refused.id} refused={refused} onDecide={(action) => decide(refused, action)} />
        ))}
      </ol>
      <MoreButton list={list} />
    </section>
  );
}

function Card({
  refused,
  onDecide,
}: {
  refused: RefusedText;
  onDecide: (action: 'accept' | 'drop') => Promise<void>;
}) {
  const { text, language } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const { id, author, kind, at, why, subject, content } = refused;
  const decide = async (action: 'accept' | 'drop') => {
    setBusy(true);
    await onDecide(action);
    setBusy(false);
  };
  return (
    <li class="card" data-id={id}>
      <p class="line">
        <a href={memberHref(author.id)} dir="auto">
          <b>{author.name || text.idOf(author.id)}</b>
        </a>
        {author.guest && <span class="tag">{text.guest}</span>}
        {kind === 'edit' && <span class="tag">{text.rejectedEdit}</span>}
        {why.map(({ detail }) => (
          <a key={detail} href={listHref('words', { q: detail })}>
            <span class="tag word">{text.word(detail)}</span>
          </a>
        ))}
        <small>
          <time dateTime={new Date(at).toISOString()}>{timeFormat(language).format(at)}</time>
        </small>
      </p>
      <p class="plain" dir="auto">
        {content}
      </p>
      <p class="line">
        <a href={threadHref(subject)}>{`${subject.type}/${subject.key}`}</a>
      </p>
      <div class="buttons">
        <button type="button" class="good" disabled={isBusy} onClick={() => void decide('accept')}>
          {text.accept}
        </button>
        <button type="button" class="bad" disabled={isBusy} onClick={() => void decide('drop')}>
          {text.drop}
        </button>
      </div>
    </li>
  );
}
