/** Texts that the word filter refused, newest first: accepted as their authors' or dropped, by buttons and keys. */

import { useCallback, useState } from 'preact/hooks';
import { useCommentDialogs } from './comment-dialogs.tsx';
import { idAfter } from './current-item.ts';
import { DelayedDrops } from './delayed-drops.ts';
import { useKeys } from './keys.ts';
import { Moment, MoreButton, type PagedList, problemText, useConsole, usePages } from './parts.tsx';
import { explained, isGone, MAX_QUERY_CHARS, withoutText, withTextAt } from './rejected-list.ts';
import { listHref, memberHref, threadHref } from './route.ts';
import { UNDO_OFFER_MS } from './undo.ts';
import { useCurrent } from './use-current.ts';
import type { ListPage, RefusedText } from './wire.ts';

/** A bit longer than undoing is offered. */
const DROP_DELAY_MS = UNDO_OFFER_MS + 500;

/** They go on while another section is open. */
const drops = new DelayedDrops();

export function Rejected({ q }: { q: string }) {
  const { client, text } = useConsole();
  const load = useCallback(
    async (cursor: string | null): Promise<ListPage<RefusedText>> => {
      const page = await client.rejected(q || null, cursor);
      return { ...page, data: page.data.filter(({ id }) => !drops.has(id)) };
    },
    [client, q],
  );
  const list = usePages<RefusedText>(load);
  const { current, choose, step, list: host } = useCurrent(list.items);
  const { accept, drop } = useDecisions(list, choose);
  const dialogs = useCommentDialogs(current);
  const act = (key: string): boolean => {
    if (key === 'j') step(1);
    else if (key === 'k') step(-1);
    else if (key === 'a' && current) accept(current);
    else if (key === 'd' && current) drop(current);
    else return dialogs.openByKey(key);
    return true;
  };
  useKeys((key) => act(key));
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem && !list.next;
  return (
    <section class="page">
      <h2>{text.rejected}</h2>
      <p class="quiet">{text.rejectedText}</p>
      <RejectedSearch q={q} />
      {isEmpty && <p class="quiet">{text.nothingFound}</p>}
      <ol class="comments" ref={host}>
        {list.items.map((refused) => (
          <Card
            key={refused.id}
            refused={refused}
            isCurrent={refused === current}
            onChoose={() => choose(refused.id)}
            onAccept={() => accept(refused)}
            onDrop={() => drop(refused)}
            onKey={act}
          />
        ))}
      </ol>
      <MoreButton list={list} />
      {dialogs.dialog}
    </section>
  );
}

/** Each decision takes the text out of the list at once; one that fails puts it back. */
function useDecisions(list: PagedList<RefusedText>, choose: (id: string | null) => void) {
  const { client, text, say, countAgain, offerUndo } = useConsole();
  const nameOf = ({ author }: RefusedText) => author.name || text.idOf(author.id);
  /** Returns what puts it back. */
  const takeOut = (refused: RefusedText) => {
    const place = list.items.indexOf(refused);
    choose(idAfter(list.items, refused.id));
    list.change((items) => withoutText(items, refused.id));
    return () => list.change((items) => withTextAt(items, refused, place));
  };
  const accept = (refused: RefusedText) => {
    const putBack = takeOut(refused);
    const accepted = async () => {
      try {
        const { audit_id } = await client.acceptRejected(refused.id);
        return async () => {
          await client.undo(audit_id);
          countAgain();
        };
      } catch (error) {
        if (!isGone(error)) putBack();
        throw explained(error, text);
      }
    };
    offerUndo(text.rejectedAccepted(nameOf(refused)), accepted());
  };
  const drop = (refused: RefusedText) => {
    const putBack = takeOut(refused);
    const send = async () => {
      try {
        await client.dropRejected(refused.id);
      } catch (error) {
        if (isGone(error)) return;
        putBack();
        say(`${text.failed} ${problemText(error)}`);
      }
    };
    drops.add(refused.id, DROP_DELAY_MS, send);
    const takeBack = async () => {
      drops.cancel(refused.id);
      putBack();
    };
    offerUndo(text.rejectedDropped(nameOf(refused)), Promise.resolve(takeBack));
  };
  return { accept, drop };
}

function RejectedSearch({ q }: { q: string }) {
  const { text } = useConsole();
  const [typed, setTyped] = useState(q);
  return (
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
  );
}

function Card({
  refused,
  isCurrent,
  onChoose,
  onAccept,
  onDrop,
  onKey,
}: {
  refused: RefusedText;
  isCurrent: boolean;
  onChoose: () => void;
  onAccept: () => void;
  onDrop: () => void;
  onKey: (key: string) => void;
}) {
  const { text } = useConsole();
  const { id, author, kind, at, why, subject, content } = refused;
  const button = (key: string, label: string, look: string, press: () => void) => (
    <button type="button" class={look} onClick={press}>
      {label} {isCurrent && <kbd>{key.toUpperCase()}</kbd>}
    </button>
  );
  return (
    <li
      class={isCurrent ? 'card on' : 'card'}
      data-id={id}
      tabIndex={-1}
      aria-current={isCurrent ? 'true' : undefined}
      onFocusCapture={onChoose}
    >
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
          <Moment at={at} />
        </small>
      </p>
      <p class="plain" dir="auto">
        {content}
      </p>
      <p class="line">
        <a href={threadHref(subject)}>{`${subject.type}/${subject.key}`}</a>
      </p>
      <div class="buttons" role="toolbar" aria-label={text.action}>
        {button('a', text.accept, 'good', onAccept)}
        {button('d', text.drop, 'bad', onDrop)}
        {isCurrent && button('m', text.mute, '', () => onKey('m'))}
        {isCurrent && button('w', text.addWord, '', () => onKey('w'))}
      </div>
    </li>
  );
}
