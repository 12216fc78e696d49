// The one page of the benchmark, of about 10 kB: its bytes, and what the origin says about it.
const comment = { content: "盖楼 ".repeat(28), html: `<p>${"盖楼 ".repeat(28)}</p>`, likes: 10, replies: 4 };

export const body = JSON.stringify({ data: Array.from({ length: 20 }, (_, id) => ({ id: String(id), ...comment })) });
export const etag = '"0123456789abcdef"';

/** What it shows: 80 comments, each 9 above the one before and at version 9. */
const bytes = String.fromCharCode(1, ...Array.from({ length: 160 }, () => 9));
export const shows = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
