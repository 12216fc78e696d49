/** Signing in with the token of a moderator. */

import { useState } from 'preact/hooks';
import { ConsoleClient } from './client.ts';
import { problemText } from './parts.tsx';
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
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setProblem('');
    const owner = readToken(token);
    if (!owner) {
      setProblem(text.notAModerator);
      return;
    }
    setAsking(true);
    try {
      const role = await new ConsoleClient(owner.token).findRole();
      if (role) onSession({ ...owner, role });
      else setProblem(text.notAModerator);
    } catch (error) {
      setProblem(`${text.failed} ${problemText(error)}`);
    } finally {
      setAsking(false);
    }
  };
  return (
    <form class="card" onSubmit={(event) => void submit(event)}>
      <h1>{text.title}</h1>
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
        <button type="submit" class="good" disabled={isAsking}>
          {text.signIn}
        </button>
      </p>
    </form>
  );
}
