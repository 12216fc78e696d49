// The demo page: picks the thread from `?subject=`, the language and the theme, and mounts the
// element. Any subject is accepted, so that a page can be tried without writing HTML for it.
'use strict';

const query = new URLSearchParams(location.search);
const subject = query.get('subject') || 'article/hello';
const root = document.documentElement;

function remembered(name) {
  try {
    return localStorage.getItem(`gailou-demo:${name}`);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`gailou-demo:${name}`, value);
  } catch { /* a private window forgets, that is all */ }
}

function startLanguage() {
  const wanted = query.get('lang') || remembered('lang') || navigator.language;
  return /^zh/i.test(wanted) ? 'zh' : 'en';
}

function startTheme() {
  const wanted = query.get('theme') || remembered('theme');
  if (wanted === 'light' || wanted === 'dark') return wanted;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

const state = { lang: startLanguage(), theme: startTheme() };
const languageButton = document.getElementById('language');
const themeButton = document.getElementById('theme');
const comments = document.createElement('gailou-comments');

function apply() {
  root.lang = state.lang === 'zh' ? 'zh-CN' : 'en';
  root.dataset.lang = state.lang;
  root.dataset.theme = state.theme;
  comments.setAttribute('lang', state.lang);
  comments.setAttribute('theme', state.theme);
  const chinese = state.lang === 'zh';
  languageButton.textContent = chinese ? 'English' : '中文';
  languageButton.lang = chinese ? 'en' : 'zh-CN';
  if (state.theme === 'dark') themeButton.textContent = chinese ? '浅色' : 'Light';
  else themeButton.textContent = chinese ? '深色' : 'Dark';
}

function change(name, value) {
  state[name] = value;
  remember(name, value);
  apply();
}

languageButton.addEventListener('click', () => change('lang', state.lang === 'zh' ? 'en' : 'zh'));
themeButton.addEventListener('click', () =>
  change('theme', state.theme === 'dark' ? 'light' : 'dark'));

for (const link of document.querySelectorAll('.subjects a')) {
  const target = new URL(link.href).searchParams.get('subject');
  if (target === subject) link.setAttribute('aria-current', 'page');
}
document.getElementById('subject-name').textContent = subject;

comments.setAttribute('subject', subject);
for (const name of ['sort', 'token']) {
  if (query.get(name)) comments.setAttribute(name, query.get(name));
}
apply();
document.getElementById('comments').append(comments);
