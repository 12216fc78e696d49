/**
 * The demo page: picks the subject from `?subject=`, the language and the theme, and mounts the
 * element. Any subject is accepted, so a thread can be tried without HTML written for it. No token is:
 * a link must not sign its reader in as another member. With `?aside=off` the thread is the only element of the page.
 */

type Language = 'en' | 'zh';
type Theme = 'light' | 'dark';

const query = new URLSearchParams(location.search);
const subject = query.get('subject') || 'article/hello';
const comments = document.createElement('gailou-comments');
const bell = document.createElement('gailou-bell');
const latest = document.createElement('gailou-latest');
const languageButton = elementById('language');
const themeButton = elementById('theme');
const choice = { language: startLanguage(), theme: startTheme() };
/** Any language of the element, from `?lang=`; the essay has two. */
let commentLanguage = query.get('lang');

function elementById(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The demo page has no element with the id "${id}"`);
  return element;
}

function storedChoice(name: 'lang' | 'theme'): string | null {
  try {
    return localStorage.getItem(`gailou-demo:${name}`);
  } catch {
    return null;
  }
}

function storeChoice(name: 'lang' | 'theme', value: string): void {
  try {
    localStorage.setItem(`gailou-demo:${name}`, value);
  } catch {
    // A private window forgets the choice.
  }
}

function startLanguage(): Language {
  const chosen = query.get('lang') || storedChoice('lang') || navigator.language;
  return /^zh/i.test(chosen) ? 'zh' : 'en';
}

function startTheme(): Theme {
  const chosen = query.get('theme') || storedChoice('theme');
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

function chooseLanguage(language: Language): void {
  choice.language = language;
  commentLanguage = null;
  storeChoice('lang', language);
  showChoice();
}

function chooseTheme(theme: Theme): void {
  choice.theme = theme;
  storeChoice('theme', theme);
  showChoice();
}

/** Each button names what a press on it changes to. */
function showChoice(): void {
  const { language, theme } = choice;
  const isChinese = language === 'zh';
  const root = document.documentElement;
  root.lang = isChinese ? 'zh-CN' : 'en';
  root.dataset.lang = language;
  root.dataset.theme = theme;
  for (const element of [comments, bell, latest]) {
    element.setAttribute('lang', commentLanguage ?? language);
    element.setAttribute('theme', theme);
  }
  languageButton.textContent = isChinese ? 'English' : '中文';
  languageButton.lang = isChinese ? 'en' : 'zh-CN';
  if (theme === 'dark') themeButton.textContent = isChinese ? '浅色' : 'Light';
  else themeButton.textContent = isChinese ? '深色' : 'Dark';
}

function markCurrentSubject(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.subjects a')) {
    const target = new URL(link.href).searchParams.get('subject');
    if (target === subject) link.setAttribute('aria-current', 'page');
  }
  elementById('subject-name').textContent = subject;
}

/** The number of comments of each thread, the newest ones of all, and the reader's notifications. */
function showAside(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.subjects a')) {
    const count = document.createElement('gailou-count');
    count.setAttribute('subject', new URL(link.href).searchParams.get('subject') ?? '');
    link.querySelector('b')?.append(' ', count);
  }
  elementById('toggles').prepend(bell);
  latest.setAttribute('limit', '6');
  const aside = elementById('latest');
  aside.append(latest);
  aside.hidden = false;
}

languageButton.addEventListener('click', () =>
  chooseLanguage(choice.language === 'zh' ? 'en' : 'zh'),
);
themeButton.addEventListener('click', () =>
  chooseTheme(choice.theme === 'dark' ? 'light' : 'dark'),
);
markCurrentSubject();
comments.setAttribute('subject', subject);
const sort = query.get('sort');
if (sort) comments.setAttribute('sort', sort);
showChoice();
elementById('comments').append(comments);
if (query.get('aside') !== 'off') showAside();
