/**
 * Two helpers for any theme: `<%- gailou() %>` at the end of a post are its comments, and `<%- gailou_count(post) %>` is their
 * number. `comments: false` in the head of a post leaves them out.
 */

const attribute = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
const subjectOf = ({ path }) => attribute(`article/${path.replace(/\/$/, '')}`);

hexo.extend.helper.register('gailou', function gailou() {
  const { gailou: server, language } = this.config;
  if (this.page.comments === false) return '';
  const lang = attribute(this.page.lang || language);
  return `<script src="${attribute(server)}/gailou.js" data-subject="${subjectOf(this.page)}" data-lang="${lang}" defer></script>`;
});

hexo.extend.helper.register('gailou_count', (post) => {
  return `<span data-gailou-count="${subjectOf(post)}">0</span>`;
});
