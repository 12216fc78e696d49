/** Level, role and note of a member, as one form. */

import { useId, useState } from 'preact/hooks';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail } from '../api/problem-details.ts';
import { useConsole } from './parts.tsx';
import { standingPatch, type TypedStanding, typedStanding } from './standing.ts';
import type { ConsoleText } from './text.ts';
import { useStanding } from './use-member.ts';
import type { AssignableRole, ModeratedMember } from './wire.ts';

const ROLES: AssignableRole[] = ['member', 'moderator', 'admin'];
const MAX_LEVEL = 255;
const MAX_NOTE_CHARS = 1_000;

/** The level that counts where moderators give none. */
function levelText(text: ConsoleText, { account, token_level: ofToken }: ModeratedMember): string {
  const ofSite = account?.level ?? null;
  return ofSite === null ? text.levelOfToken(ofToken) : text.levelOfSite(ofSite);
}

export function StandingForm({
  member,
  onChanged,
}: {
  member: ModeratedMember;
  onChanged: (member: ModeratedMember) => void;
}) {
  const { text, session } = useConsole();
  const [typed, setTyped] = useState(() => typedStanding(member));
  const [problem, setProblem] = useState<unknown>(null);
  const change = useStanding(onChanged);
  const ids = { role: useId(), note: useId() };
  const { id, name, guest } = member;
  const patch = standingPatch(member, typed);
  const isRoleFixed = session.role !== 'admin' || guest || id === session.id;
  const set = (field: keyof TypedStanding, value: string) =>
    setTyped((before) => ({ ...before, [field]: value }));
  const wrong = (field: string) =>
    problem instanceof ApiProblem ? fieldDetail(problem, field) : null;
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!patch) return;
    setProblem(null);
    await change(id, text.changed(name || text.idOf(id)), patch).catch(setProblem);
  };
  return (
    <form class="card stack" onSubmit={(event) => void save(event)}>
      <h3>{text.whatIsSaid}</h3>
      <div class="fields">
        <label class="field">
          {text.level}
          <input
            type="number"
            min={0}
            max={MAX_LEVEL}
            placeholder={levelText(text, member)}
            value={typed.level}
            aria-invalid={wrong('level') !== null}
            onInput={(event) => set('level', event.currentTarget.value)}
          />
        </label>
        <label class="field">
          {text.role}
          <select
            value={typed.role}
            disabled={isRoleFixed}
            aria-describedby={ids.role}
            onChange={(event) => set('role', event.currentTarget.value)}
          >
            <option value="">{text.ofToken}</option>
            {ROLES.map((role) => (
              <option key={role} value={role}>
                {text.roles[role]}
              </option>
            ))}
          </select>
          <small id={ids.role} class={wrong('role') ? 'bad-text' : 'quiet'}>
            {wrong('role') ?? text.roleText}
          </small>
        </label>
      </div>
      <label class="field">
        {text.note}
        <textarea
          rows={3}
          dir="auto"
          maxLength={MAX_NOTE_CHARS}
          value={typed.note}
          aria-describedby={ids.note}
          onInput={(event) => set('note', event.currentTarget.value)}
        />
        <small id={ids.note} class={wrong('note') ? 'bad-text' : 'quiet'}>
          {wrong('note') ?? text.noteText}
        </small>
      </label>
      <p class="buttons">
        <button type="submit" class="good" disabled={!patch}>
          {text.save}
        </button>
      </p>
    </form>
  );
}
