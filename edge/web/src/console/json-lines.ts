/** An answer that has one JSON value a line, read while it comes. */

/** Each value. An answer that is cut off ends with an error. */
export async function* readJsonLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line) yield JSON.parse(line);
      if (done) break;
    }
    if (rest) yield JSON.parse(rest);
  } finally {
    // A reader that leaves early lets the sender know.
    await reader.cancel();
  }
}
