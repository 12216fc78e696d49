// A site with members of its own. It serves one page, and a token for the member who is signed in;
// here that is always Ann, on your site the session says it.
//
//   GAILOU_TOKEN_SECRET=… node examples/node/site.mjs
//
// COMMENTS (http://127.0.0.1:8080) is where Gailou answers, PORT (3000) where this site does.

import { createServer } from 'node:http';

import { memberToken } from './member-token.mjs';

const {
  GAILOU_TOKEN_SECRET: secret,
  COMMENTS = 'http://127.0.0.1:8080',
  PORT = '3000',
} = process.env;
if (!secret) {
  console.error('GAILOU_TOKEN_SECRET is missing: give this site and gailou the same one');
  process.exit(2);
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A site with members</title>
<h1>A site with members</h1>
<gailou-comments subject="article/members"></gailou-comments>
<script src="${COMMENTS}/gailou.js"></script>
<script>
  // The element takes a token at any time, so fetch a new one before the old one expires.
  const renew = async () => {
    document.querySelector("gailou-comments").token = await (await fetch("/comment-token")).text();
  };
  renew();
  setInterval(renew, 50 * 60 * 1000);
</script>
`;

const server = createServer((request, response) => {
  if (request.url === '/comment-token') {
    const member = { id: 7, name: 'Ann' };
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
    response.end(memberToken(member, secret));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(PAGE);
});
server.listen(Number(PORT), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
