/** A time in full words. */

const formats = new Map<string, Intl.DateTimeFormat>();

/** `dateTime` is the value of that attribute of a `time` element. */
export function fullTime({ tag }: { readonly tag: string }, dateTime: string): string {
  let format = formats.get(tag);
  if (!format) {
    format = new Intl.DateTimeFormat(tag, { dateStyle: 'full', timeStyle: 'short' });
    formats.set(tag, format);
  }
  return format.format(new Date(dateTime));
}
