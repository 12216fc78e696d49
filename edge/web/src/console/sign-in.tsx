/** Signing in: with a passkey of an account of this installation, or with the token of a moderator. */

import { useState } from 'preact/hooks';
import { ConsoleClient } from './client.ts';
import { problemText } from './parts.tsx';
import { canUsePasskeys, signInWithPasskey } from './passkey.ts';
import { readToken, type Session } from './session.ts';
import type { ConsoleText } from './text.ts';

export function SignIn({
  text,
  onSession,
}: {
  text: ConsoleText;
  onSession: (session: Session) => void;
}) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const [isAsking, setAsking] = useState(false);
  /** Signs in with the token that is found, unless it moderates nothing. */
  const signIn = async (find: () => Promise<string | null>, refusal: string) => {
    setProblem('');
    setAsking(true);
    try {
      const found = await find();
      const owner = found ? readToken(found) : null;
      const role = owner && (await new ConsoleClient(owner.token).findRole());
      if (owner && role) onSession({ ...owner, role });
      else setProblem(refusal);
    } catch (error) {
      setProblem(`${text.failed} ${problemText(error)}`);
    } finally {
      setAsking(false);
    }
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void signIn(async () => token, text.notAModerator);
      }}
    >
      <h1>{text.title}</h1>
      {canUsePasskeys() && (
        <>
          <p class="buttons">
            <button
              type="button"
              class="good"
              disabled={isAsking}
              onClick={() => void signIn(signInWithPasskey, text.noPasskeyChosen)}
            >
              {text.signInWithPasskey}
            </button>
          </p>
          <p class="quiet">{text.signInWithPasskeyText}</p>
          <hr />
        </>
      )}
      <p>{text.signInText}</p>
      <label class="field">
        {text.token}
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          aria-invalid={problem !== ''}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class={canUsePasskeys() ? '' : 'good'} disabled={isAsking}>
          {text.signIn}
        </button>
      </p>
    </form>
  );
}
