// The page of the benchmark, about 10 kB: its body, its tag and its header X-Gailou-Shows.
const comment = {
  content: '盖楼 '.repeat(28),
  html: `<p>${'盖楼 '.repeat(28)}</p>`,
  likes: 10,
  replies: 4,
};

export const body = JSON.stringify({
  data: Array.from({ length: 20 }, (_, id) => ({ id: String(id), ...comment })),
});
export const etag = '"0123456789abcdef"';

/** One subject of version 9, and 80 comments: each id is 9 above the one before, each version is 9. */
const bytes = String.fromCharCode(2, 1, 5, 9, ...Array.from({ length: 160 }, () => 9));
export const shows = btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
