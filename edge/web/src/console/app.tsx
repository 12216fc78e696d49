/** The frame of the console: who is signed in, the sections, and what is said. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Audit } from './audit.tsx';
import { ConsoleClient } from './client.ts';
import { type ConsoleContext, ConsoleProvider } from './parts.tsx';
import { Review } from './review.tsx';
import { readSession, type Session, storedSession, storeSession } from './session.ts';
import { Settings } from './settings.tsx';
import { type ConsoleText, type Language, TEXTS } from './text.ts';
import { Words } from './words.tsx';

const SECTIONS = ['held', 'reported', 'words', 'audit', 'settings'] as const;
type Section = (typeof SECTIONS)[number];

/** How often the numbers beside the sections are read. */
const COUNT_INTERVAL_MS = 20_000;
const LANGUAGE_KEY = 'gailou.console.language';
/** How long a message stays. */
const MESSAGE_MS = 6_000;

function sectionOf(hash: string): Section {
  return SECTIONS.find((section) => hash === `#/${section}`) ?? 'held';
}

function firstLanguage(): Language {
  const stored = localStorage.getItem(LANGUAGE_KEY);
  if (stored === 'en' || stored === 'zh') return stored;
  return navigator.language.startsWith('zh') ? 'zh' : 'en';
}

function useSection(): Section {
  const [section, setSection] = useState(() => sectionOf(location.hash));
  useEffect(() => {
    const onHash = () => setSection(sectionOf(location.hash));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return section;
}

export function App() {
  const [language, setLanguage] = useState(firstLanguage);
  const [session, setSession] = useState(storedSession);
  const text = TEXTS[language];
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
    document.title = text.title;
  }, [language, text]);
  const changeLanguage = () => {
    const other = language === 'zh' ? 'en' : 'zh';
    localStorage.setItem(LANGUAGE_KEY, other);
    setLanguage(other);
  };
  const changeSession = (next: Session | null) => {
    storeSession(next);
    setSession(next);
  };
  const languageButton = (
    <button type="button" onClick={changeLanguage}>
      {text.language}
    </button>
  );
  if (!session) {
    return (
      <main class="sign-in">
        <SignIn text={text} onSession={changeSession} />
        {languageButton}
      </main>
    );
  }
  return (
    <SignedIn
      key={session.token}
      session={session}
      language={language}
      languageButton={languageButton}
      onSignOut={() => changeSession(null)}
    />
  );
}

function SignIn({ text, onSession }: { text: ConsoleText; onSession: (session: Session) => void }) {
  const [token, setToken] = useState('');
  const [isRefused, setRefused] = useState(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const session = readSession(token);
    setRefused(!session);
    if (session) onSession(session);
  };
  return (
    <form class="card" onSubmit={submit}>
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
          aria-invalid={isRefused}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      {isRefused && (
        <p class="problem" role="alert">
          {text.notAModerator}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class="good">
          {text.signIn}
        </button>
      </p>
    </form>
  );
}

/** How many wait in each part of the queue. */
function useQueueCounts(client: ConsoleClient) {
  const [counts, setCounts] = useState<Partial<Record<Section, number>>>({});
  const countAgain = useCallback(() => {
    const parts = ['held', 'reported'] as const;
    for (const part of parts) {
      // A count that cannot be read stays what it was; the list itself says what is wrong.
      client.countQueue(part).then(
        (count) => setCounts((before) => ({ ...before, [part]: count })),
        () => {},
      );
    }
  }, [client]);
  useEffect(() => {
    countAgain();
    const timer = setInterval(countAgain, COUNT_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [countAgain]);
  return { counts, countAgain };
}

function SignedIn({
  session,
  language,
  languageButton,
  onSignOut,
}: {
  session: Session;
  language: Language;
  languageButton: preact.JSX.Element;
  onSignOut: () => void;
}) {
  const section = useSection();
  const [message, setMessage] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const say = useCallback((next: string) => {
    if (timer.current) clearTimeout(timer.current);
    setMessage(next);
    timer.current = setTimeout(() => setMessage(''), MESSAGE_MS);
  }, []);
  const text = TEXTS[language];
  const client = useMemo(() => new ConsoleClient(session.token), [session]);
  const { counts, countAgain } = useQueueCounts(client);
  const context = useMemo<ConsoleContext>(
    () => ({ client, session, text, language, say, countAgain }),
    [client, session, text, language, say, countAgain],
  );
  return (
    <ConsoleProvider value={context}>
      <header>
        <h1>{text.title}</h1>
        <span class="person">
          <b dir="auto">{session.name}</b> <small class="quiet">{session.role}</small>
        </span>
        {languageButton}
        <button type="button" onClick={onSignOut}>
          {text.signOut}
        </button>
      </header>
      <nav aria-label={text.sections}>
        {SECTIONS.map((one) => (
          <a key={one} href={`#/${one}`} aria-current={one === section ? 'page' : undefined}>
            {text[one]} <small>{counts[one]}</small>
          </a>
        ))}
      </nav>
      <main>
        {(section === 'held' || section === 'reported') && <Review key={section} kind={section} />}
        {section === 'words' && <Words />}
        {section === 'audit' && <Audit />}
        {section === 'settings' && <Settings />}
      </main>
      <p class="said" role="status">
        {message}
      </p>
    </ConsoleProvider>
  );
}
