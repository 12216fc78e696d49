/** The passkeys of the account that is signed in: listed, added, removed. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { Problem, problemText, useConsole } from './parts.tsx';
import { canUsePasskeys, createPasskey, isKnownPasskey } from './passkey.ts';
import { timeFormat } from './text.ts';
import type { Passkey } from './wire.ts';

const MAX_NAME_CHARS = 64;

export function Passkeys({ onClose }: { onClose: () => void }) {
  const { client, text, say } = useConsole();
  const [passkeys, setPasskeys] = useState<Passkey[] | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const load = useCallback(async () => {
    setProblem(null);
    await client.passkeys().then(setPasskeys, setProblem);
  }, [client]);
  useEffect(() => void load(), [load]);
  const remove = async ({ id }: Passkey) => {
    try {
      await client.removePasskey(id);
      say(text.passkeyRemoved);
    } catch (error) {
      say(`${text.failed} ${problemText(error)}`);
    }
    await load();
  };
  return (
    <Dialog title={text.passkeys} onClose={onClose}>
      {() => (
        <div class="stack">
          <p class="quiet">{text.passkeysText}</p>
          {problem !== null && <Problem problem={problem} onRetry={() => void load()} />}
          {passkeys === null && problem === null && <p class="quiet">{text.loading}</p>}
          {passkeys?.length === 0 && <p>{text.noPasskeys}</p>}
          {passkeys && passkeys.length > 0 && (
            <ul class="passkeys">
              {passkeys.map((passkey) => (
                <Row key={passkey.id} passkey={passkey} onRemove={() => void remove(passkey)} />
              ))}
            </ul>
          )}
          {canUsePasskeys() ? (
            <AddPasskey
              onAdded={() => {
                say(text.passkeyAdded);
                void load();
              }}
            />
          ) : (
            <p class="problem">{text.passkeysNeedName}</p>
          )}
        </div>
      )}
    </Dialog>
  );
}

/** Removing is asked for once more: there is no way back. */
function Row({ passkey, onRemove }: { passkey: Passkey; onRemove: () => void }) {
  const { text, language } = useConsole();
  const [isAsking, setAsking] = useState(false);
  const time = timeFormat(language);
  const { name, created_at: createdAt, used_at: usedAt } = passkey;
  return (
    <li>
      <span>
        <b dir="auto">{name}</b>
        <small class="quiet">
          {usedAt === null
            ? text.passkeyUnused(time.format(createdAt))
            : text.passkeyUsed(time.format(usedAt))}
        </small>
      </span>
      {isAsking ? (
        <span class="buttons">
          <button type="button" class="bad" onClick={onRemove}>
            {text.removePasskey}
          </button>
          {/* The focus was on the button that this one stands for. */}
          <button type="button" ref={(button) => button?.focus()} onClick={() => setAsking(false)}>
            {text.cancel}
          </button>
        </span>
      ) : (
        <button type="button" aria-label={text.removeNamed(name)} onClick={() => setAsking(true)}>
          {text.remove}
        </button>
      )}
    </li>
  );
}

function AddPasskey({ onAdded }: { onAdded: () => void }) {
  const { client, text } = useConsole();
  const [name, setName] = useState(deviceName);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      const { challenge, options } = await client.beginPasskey();
      const credential = await createPasskey(options);
      if (credential) {
        await client.addPasskey(challenge, name.trim(), credential);
        setName('');
        onAdded();
      } else {
        setProblem(text.passkeyNotMade);
      }
    } catch (error) {
      setProblem(
        isKnownPasskey(error) ? text.passkeyKnown : `${text.failed} ${problemText(error)}`,
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={(event) => void add(event)}>
      <label class="field">
        {text.passkeyName}
        <input
          required
          maxLength={MAX_NAME_CHARS}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class="good" disabled={isBusy || name.trim() === ''}>
          {text.addPasskey}
        </button>
      </p>
    </form>
  );
}

/** What the device is usually called: a name to begin with. */
function deviceName(): string {
  const names = ['iPhone', 'iPad', 'Android', 'Mac', 'Windows', 'Linux'];
  return names.find((name) => navigator.userAgent.includes(name)) ?? '';
}
