/** Members: all, those whose names begin so, or those who are muted. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { MoreButton, useConsole, usePages } from './parts.tsx';
import { MemberTags } from './person.tsx';
import { listHref, memberHref } from './route.ts';
import type { ModeratedMember } from './wire.ts';

/** How long nothing is typed before it is looked for. */
const TYPING_MS = 300;
const MAX_NAME_CHARS = 64;

export function Members({ q, muted }: { q: string; muted: boolean }) {
  const { client, text } = useConsole();
  const [typed, setTyped] = useState(q);
  const sent = useRef(q);
  useEffect(() => {
    // Another address, not the one that typing has made.
    if (q !== sent.current) setTyped(q);
    sent.current = q;
  }, [q]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed.trim() === sent.current) return;
      sent.current = typed.trim();
      // No step back for each letter.
      location.replace(listHref('members', { q: sent.current }));
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const load = useCallback(
    (cursor: string | null) =>
      muted ? client.mutedMembers(cursor) : client.members(q || null, cursor),
    [client, q, muted],
  );
  const list = usePages<ModeratedMember>(load);
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.problem && !list.next;
  return (
    <section class="page">
      <h2>{muted ? text.mutedMembers : text.members}</h2>
      <search>
        <label class="field">
          {text.memberQuery}
          <input
            type="search"
            dir="auto"
            maxLength={MAX_NAME_CHARS}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
      </search>
      <p class="links">
        {muted ? (
          <a href={listHref('members')}>{text.allMembers}</a>
        ) : (
          <a href={listHref('members', { muted: '1' })}>{text.mutedMembers}</a>
        )}
        <a href={listHref('audit', { action: 'mute' })}>{text.mutesInLog}</a>
      </p>
      {isEmpty && <p class="quiet">{text.nothingFound}</p>}
      <ul class="people">
        {list.items.map((member) => (
          <li key={member.id}>
            <a href={memberHref(member.id)}>
              <bdi>{member.name || text.noName}</bdi>
              <small class="quiet">{text.idOf(member.id)}</small>
              <MemberTags member={member} />
              {member.note && (
                <small class="start quiet" dir="auto">
                  {member.note}
                </small>
              )}
            </a>
          </li>
        ))}
      </ul>
      <MoreButton list={list} />
    </section>
  );
}
