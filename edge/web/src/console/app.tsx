/** The frame of the console: who is signed in, the sections, what is said, and what can be taken back. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { endSession, refreshToken, renewalDelay } from './account.ts';
import { Audit } from './audit.tsx';
import { ConsoleClient } from './client.ts';
import { CommentPage } from './comment-page.tsx';
import { Comments } from './comments.tsx';
import { Deliveries } from './deliveries.tsx';
import { Help } from './help.tsx';
import { useKeys } from './keys.ts';
import { Live } from './live.tsx';
import { parseRange } from './live-ranges.ts';
import { MemberPage } from './member.tsx';
import { Members } from './members.tsx';
import { type ConsoleContext, ConsoleProvider, useConsole } from './parts.tsx';
import { isOwnAccount } from './passkey.ts';
import { Passkeys } from './passkeys.tsx';
import { Rejected } from './rejected.tsx';
import { Review } from './review.tsx';
import { parseRoute, type Route, SECTIONS, type Section } from './route.ts';
import { readToken, type Session, storedSession, storeSession } from './session.ts';
import { Settings } from './settings.tsx';
import { SignIn } from './sign-in.tsx';
import { Subjects } from './subjects.tsx';
import { type Language, TEXTS } from './text.ts';
import { Transfer } from './transfer.tsx';
import { UndoBar, useUndo } from './undo-bar.tsx';
import { Webhooks } from './webhooks.tsx';
import { Words } from './words.tsx';

/** How often the numbers beside the sections are read. */
const COUNT_INTERVAL_MS = 20_000;
/** When a server that could not say whether it has search is asked again. */
const SEARCH_RETRY_MS = 20_000;
const LANGUAGE_KEY = 'gailou.console.language';
/** How long a message stays. */
const MESSAGE_MS = 6_000;

function firstLanguage(): Language {
  const stored = localStorage.getItem(LANGUAGE_KEY);
  if (stored === 'en' || stored === 'zh') return stored;
  return navigator.language.startsWith('zh') ? 'zh' : 'en';
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onHash = () => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return route;
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
  const isAsking = useAccount(session, changeSession);
  if (!session) {
    return (
      <main class="sign-in">
        {!isAsking && <SignIn text={text} onSession={changeSession} />}
        {languageButton}
      </main>
    );
  }
  return (
    <SignedIn
      key={session.id}
      session={session}
      language={language}
      languageButton={languageButton}
      onSignOut={() => {
        void endSession();
        changeSession(null);
      }}
    />
  );
}

/** Signs in by the account that the browser has, once, where nobody is signed in; whether it is still being asked for. */
function useAccount(session: Session | null, onSession: (session: Session) => void): boolean {
  const [isAsking, setAsking] = useState(session === null);
  useEffect(() => {
    if (!isAsking) return;
    void sessionOfAccount().then((found) => {
      if (found) onSession(found);
      setAsking(false);
    });
  }, []);
  return isAsking;
}

async function sessionOfAccount(): Promise<Session | null> {
  const token = await refreshToken();
  const owner = token ? readToken(token) : null;
  if (!owner) return null;
  try {
    const role = await new ConsoleClient(owner.token).findRole();
    return role ? { ...owner, role } : null;
  } catch {
    return null;
  }
}

/** Goes on with another token before this one ends, where the browser is signed in to the account that it is of. */
function useRenewal(session: Session, client: ConsoleClient): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const renewLater = (expiresAt: number | null) => {
      if (expiresAt !== null) timer = setTimeout(() => void renew(), renewalDelay(expiresAt));
    };
    const renew = async () => {
      const token = await refreshToken();
      const owner = token ? readToken(token) : null;
      if (timer === null || owner?.id !== session.id) return;
      client.renew(owner.token);
      storeSession({ ...session, ...owner });
      renewLater(owner.expiresAt);
    };
    renewLater(session.expiresAt);
    return () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    };
  }, [session, client]);
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

/** Whether the server finds comments; null until it has said so. One that cannot say is asked again. */
function useHasSearch(client: ConsoleClient): boolean | null {
  const [hasSearch, setHasSearch] = useState<boolean | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isHere = true;
    const ask = async () => {
      try {
        const found = await client.hasSearch();
        if (isHere) setHasSearch(found);
      } catch {
        if (!isHere) return;
        setHasSearch(false);
        timer = setTimeout(() => void ask(), SEARCH_RETRY_MS);
      }
    };
    void ask();
    return () => {
      isHere = false;
      if (timer) clearTimeout(timer);
    };
  }, [client]);
  return hasSearch;
}

/** The last message, for a while. */
function useMessage() {
  const [message, setMessage] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const say = useCallback((next: string) => {
    if (timer.current) clearTimeout(timer.current);
    setMessage(next);
    timer.current = setTimeout(() => setMessage(''), MESSAGE_MS);
  }, []);
  return { message, say };
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
  const route = useRoute();
  const { message, say } = useMessage();
  const text = TEXTS[language];
  const client = useMemo(() => new ConsoleClient(session.token), [session]);
  useRenewal(session, client);
  const { counts, countAgain } = useQueueCounts(client);
  const hasSearch = useHasSearch(client);
  const { offers, offerUndo, undo } = useUndo(text, say);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [arePasskeysOpen, setPasskeysOpen] = useState(false);
  const context = useMemo<ConsoleContext>(
    () => ({ client, session, text, language, hasSearch, say, countAgain, offerUndo }),
    [client, session, text, language, hasSearch, say, countAgain, offerUndo],
  );
  useKeys((key) => {
    if (key === 'z') void undo();
    else if (key === '?') setHelpOpen(true);
    else if (key === '/') focusSearch(hasSearch);
    return key === 'z' || key === '?' || key === '/';
  });
  return (
    <ConsoleProvider value={context}>
      <header>
        <h1>{text.title}</h1>
        <span class="person">
          <b dir="auto">{session.name}</b> <small class="quiet">{text.roles[session.role]}</small>
        </span>
        <button
          type="button"
          class="key-help"
          aria-label={text.keys}
          onClick={() => setHelpOpen(true)}
        >
          ?
        </button>
        {isOwnAccount(session.id) && (
          <button
            type="button"
            class="open-passkeys"
            aria-label={text.passkeys}
            onClick={() => setPasskeysOpen(true)}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M15.5 14.5a6 6 0 1 0-5-5L3 17v4h4v-2h2v-2h2zM16 8h.01" />
            </svg>
            <span>{text.passkeys}</span>
          </button>
        )}
        {languageButton}
        <button type="button" onClick={onSignOut}>
          {text.signOut}
        </button>
      </header>
      <Navigation current={route.section} counts={counts} />
      <main>
        <CurrentSection route={route} />
      </main>
      <footer>
        <p class="said" role="status">
          {message}
        </p>
        <UndoBar offers={offers} text={text} onUndo={() => void undo()} />
      </footer>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
      {arePasskeysOpen && <Passkeys onClose={() => setPasskeysOpen(false)} />}
    </ConsoleProvider>
  );
}

/** To the search field of the section, or to the section that searches. */
function focusSearch(hasSearch: boolean | null): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field) field.focus();
  else location.hash = hasSearch ? '#/comments' : '#/members';
}

function Navigation({
  current,
  counts,
}: {
  current: Section;
  counts: Partial<Record<Section, number>>;
}) {
  const { text, hasSearch } = useConsole();
  const link = useRef<HTMLAnchorElement>(null);
  // The sections are wider than a phone.
  useEffect(() => link.current?.scrollIntoView({ inline: 'nearest', block: 'nearest' }), [current]);
  const sections = SECTIONS.filter((section) => section !== 'comments' || hasSearch);
  return (
    <nav aria-label={text.sections}>
      {sections.map((section) => (
        <a
          key={section}
          href={`#/${section}`}
          ref={section === current ? link : null}
          aria-current={section === current ? 'page' : undefined}
        >
          {text[section]} <small>{counts[section]}</small>
        </a>
      ))}
    </nav>
  );
}

function CurrentSection({ route: { section, id, filter } }: { route: Route }) {
  switch (section) {
    case 'held':
    case 'reported':
      return <Review key={section} kind={section} />;
    case 'rejected':
      return <Rejected key={filter.q ?? ''} q={filter.q ?? ''} />;
    case 'comments':
      return id ? (
        <CommentPage key={id} id={id} />
      ) : (
        <Comments key={JSON.stringify(filter)} parts={filter} />
      );
    case 'subjects':
      return <Subjects q={filter.q ?? ''} state={filter.state ?? ''} />;
    case 'members':
      return id ? (
        <MemberPage key={id} id={id} />
      ) : (
        <Members q={filter.q ?? ''} muted={filter.muted === '1'} />
      );
    case 'words':
      return <Words q={filter.q ?? ''} />;
    case 'live':
      return <Live key={filter.range} range={parseRange(filter.range)} />;
    case 'audit':
      return <Audit actor={filter.actor ?? null} action={filter.action ?? null} />;
    case 'webhooks':
      return id ? <Deliveries key={id} id={id} /> : <Webhooks />;
    case 'transfer':
      return <Transfer />;
    case 'settings':
      return <Settings />;
  }
}
